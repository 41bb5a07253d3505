import CloudService
import Foundation
import ParseProtocol
import Testing

/// The version folders, as scripts/cloud stores them.
@Suite struct CodeVersionsTests {
    private static func folder() throws -> String {
        let path = NSTemporaryDirectory() + "versions-\(Names.random(10))"
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        return path
    }

    private static func versions(in folder: String) -> CodeVersions {
        CodeVersions(place: folder + "/cloud", lockFile: folder + "/cloud.lock")
    }

    private static func upload(_ main: String) throws -> CodeUpload {
        try CodeUpload(["files": ["main.js": .string(main), "lib/a.js": "a"]])
    }

    private static func main(in folder: String) -> String? {
        try? String(contentsOfFile: folder + "/cloud/main.js", encoding: .utf8)
    }

    @Test func versionsAreAddedAndTheLinkNamesOne() throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let versions = Self.versions(in: folder)
        #expect(try versions.adopt() == nil, "There is no code.")
        #expect(versions.current == nil)
        let numbers = try ["one", "two"].map { try versions.add(Self.upload($0)) }
        #expect(numbers == [1, 2])
        #expect(versions.current == nil, "Nobody said so yet.")
        try versions.point(to: 1)
        #expect(versions.current == 1)
        #expect(Self.main(in: folder) == "one")
        try versions.point(to: 2)
        #expect(Self.main(in: folder) == "two")
        #expect(try String(contentsOfFile: folder + "/cloud/lib/a.js", encoding: .utf8) == "a")
        #expect(versions.numbers == [1, 2])
        #expect(versions.made(2) != nil)
    }

    @Test func whatWasPutThereByHandBecomesAVersion() throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        try FileManager.default.createDirectory(atPath: folder + "/cloud", withIntermediateDirectories: true)
        try Data("by hand".utf8).write(to: URL(fileURLWithPath: folder + "/cloud/main.js"))
        let versions = Self.versions(in: folder)
        #expect(try versions.adopt() == 1)
        #expect(versions.current == 1)
        #expect(Self.main(in: folder) == "by hand")
        #expect(try versions.adopt() == nil, "It is one already.")
    }

    @Test func tenAreKeptAndTheOneInEffect() throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let versions = Self.versions(in: folder)
        for number in 1...13 { _ = try versions.add(Self.upload("\(number)")) }
        try versions.point(to: 2)
        versions.removeOld()
        #expect(versions.numbers == [2] + Array(4...13))
    }

    @Test func theOthersFollowOnlyWhatTheLinkStillNames() throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let versions = Self.versions(in: folder)
        for text in ["one", "two"] { _ = try versions.add(Self.upload(text)) }
        try versions.point(to: 1)
        #expect(versions.taken == nil)
        try versions.setTaken(1)
        #expect(versions.taken == 1)
        try versions.point(to: 2)
        #expect(versions.taken == nil)
    }

    /// Otherwise the others would not follow a version whose replica is killed when the link names it.
    @Test func theOthersKnowWhatToFollowWhenTheLinkNamesIt() throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let versions = Self.versions(in: folder)
        _ = try versions.add(Self.upload("one"))
        // The link cannot replace a folder.
        try FileManager.default.createDirectory(atPath: folder + "/cloud", withIntermediateDirectories: true)
        #expect(throws: (any Error).self) { try versions.take(1) }
        #expect(versions.taken == nil)
        try FileManager.default.removeItem(atPath: folder + "/cloud")
        try versions.point(to: 1)
        #expect(versions.taken == 1)
    }

    @Test func oneChangesThemAtATime() async throws {
        let folder = try Self.folder()
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let versions = Self.versions(in: folder)
        try await versions.locked {
            let error = await #expect(throws: ParseError.self) { try await versions.locked {} }
            #expect(error?.code == .serviceUnavailable)
        }
        try await versions.locked {}
    }
}
