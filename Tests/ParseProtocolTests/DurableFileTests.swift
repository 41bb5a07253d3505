import Foundation
import Glibc
import ParseProtocol
import Testing

/// A durable small file is either complete or absent, whichever process writes it.
@Suite final class DurableFileTests {
    private let folder = NSTemporaryDirectory() + "durable-" + Names.random(10)

    init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(atPath: folder) }

    private var path: String { folder + "/key" }
    private var names: [String] {
        get throws { try FileManager.default.contentsOfDirectory(atPath: folder).sorted() }
    }

    private func text(_ path: String) -> String? {
        FileManager.default.contents(atPath: path).map { String(decoding: $0, as: UTF8.self) }
    }

    @Test func aFileReplacesTheOneThatHadItsName() throws {
        for size in [0, 1, 100_000] {
            try DurableFile.write([UInt8](repeating: 65, count: size), to: path)
            #expect(text(path)?.utf8.count == size)
            #expect(try names == ["key"])
        }
        #expect(try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions] as? Int == 0o600)
    }

    /// The draft of `full` is a link to a full device.
    @Test func someOfSeveralFilesFailAlone() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        try DurableFile.write(Array("old".utf8), to: folder + "/b")
        try #require(symlink("/dev/full", folder + "/.full.tmp") == 0)
        let results = DurableFile.write(
            ["a", "key", "full", "b"].map { (name: $0, bytes: Array("new \($0)".utf8)) }, in: folder)
        let calls = results.map { if case .failure(let failure) = $0 { failure.call } else { "" } }
        #expect(calls == ["", "rename", "write", ""])
        #expect(text(folder + "/a") == "new a")
        #expect(text(folder + "/b") == "new b")
        #expect(try names == ["a", "b", "key"], "No draft is left.")
    }

    @Test func whatACrashLeftIsWrittenAnew() throws {
        try Data("half of a long fi".utf8).write(to: URL(fileURLWithPath: folder + "/.key.tmp"))
        try DurableFile.write(Array("whole".utf8), to: path)
        #expect(text(path) == "whole")
        #expect(try names == ["key"])
    }

    /// The draft is a link to a full device.
    @Test(arguments: [DurableFile.Taken.replace, .keep])
    func aFullDiskLeavesWhatWasThere(_ taken: DurableFile.Taken) throws {
        try DurableFile.write(Array("old".utf8), to: path)
        let draft = folder + "/draft"
        try #require(symlink("/dev/full", draft) == 0)
        let failure = #expect(throws: DurableFile.Failure.self) {
            try DurableFile.write(Array("new".utf8), to: path, draft: draft, taken: taken)
        }
        #expect(failure?.call == "write")
        #expect(failure?.code == ENOSPC)
        #expect(failure?.description.contains("/") == false, "A text that others may read has no path in it.")
        #expect(text(path) == "old")
        #expect(try names == ["key"])
    }

    @Test func aFolderThatIsNoneIsRefusedAndANameThatCannotBeTakenLeavesNoDraft() throws {
        #expect(throws: DurableFile.Failure.self) { try DurableFile.write([1], to: "/dev/null/key") }
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        let failure = #expect(throws: DurableFile.Failure.self) { try DurableFile.write([1], to: path) }
        #expect(failure?.call == "rename")
        #expect(try names == ["key"])
    }

    /// Replicas start concurrently, and each wants to create the key.
    @Test func concurrentWritersCreateAFileOnce() async throws {
        let (folder, path) = (folder, path)
        let read = try await withThrowingTaskGroup(of: Data?.self) { group in
            for number in 0..<20 {
                group.addTask {
                    let text = String(repeating: "\(number) ", count: 5000)
                    try DurableFile.write(
                        Array(text.utf8), to: path, draft: "\(folder)/draft-\(number)", taken: .keep)
                    return FileManager.default.contents(atPath: path)
                }
            }
            return try await group.reduce(into: Set<Data?>()) { $0.insert($1) }
        }
        #expect(read.count == 1)
        #expect(read.first??.isEmpty == false)
        #expect(try names == ["key"])
    }
}
