import CrashService
import Foundation
import ParseProtocol
import ProcessKit
import ServiceSupport
import Testing

/// The file with the default project's key, which outlives the database.
@Suite struct CrashKeyFileTests {
    private let sandbox: SandboxStore
    private let path = FileManager.default.temporaryDirectory.appending(path: "crash-\(Names.random(12)).key").path

    init() async throws { sandbox = try await SandboxStore(crashPlan) }

    @Test func aMissingFileIsWrittenAndItsKeyIsKnownInANewDatabase() async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await DefaultKeyFile(path: path).match(sandbox.store)
        let key = try String(contentsOfFile: path, encoding: .utf8)
        let other = try await SandboxStore(crashPlan)
        try await DefaultKeyFile(path: path).match(other.store)
        #expect(try await other.count("SELECT count(*) FROM crashKeys WHERE publicKey = '\(key)'") == 1)
        #expect(try await other.count("SELECT count(*) FROM crashKeys") == 2)
    }

    @Test func aFileThatCannotBeReadIsNotReplaced() async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let bytes = Data([0xFF, 0xFE, 0xFD])
        try bytes.write(to: URL(fileURLWithPath: path))
        await #expect(throws: StartupProblem.self) { try await DefaultKeyFile(path: path).match(sandbox.store) }
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == bytes)
    }

    @Test func aDisabledKeyIsNotWritten() async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await sandbox.store.write { _ = try $0.execute("UPDATE crashKeys SET disabledAt = 1") }
        try await DefaultKeyFile(path: path).match(sandbox.store)
        #expect(!FileManager.default.fileExists(atPath: path))
    }
}
