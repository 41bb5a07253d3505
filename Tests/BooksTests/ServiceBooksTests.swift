import Books
import Foundation
import ParseProtocol
import Testing

/// The lists of a service that are not in its database.
@Suite struct ServiceBooksTests {
    private func filesOnDisk(_ folder: String, after: String = "") throws -> JSON {
        let books = try ServiceBooks(isPostgreSQL: false, now: 0, files: folder) { _, _, _, _ in [] }
        return try #require(try books.answer(["list": "filesOnDisk", "after": .string(after)])["rows"])
    }

    @Test func aFolderThatCannotBeReadIsNotAnEmptyOne() throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "satchel-\(UUID())")
        defer { try? FileManager.default.removeItem(at: folder) }
        #expect(try filesOnDisk(folder.path) == [])
        try FileManager.default.createDirectory(
            at: folder.appending(path: "ab"), withIntermediateDirectories: true)
        for name in ["abc", "abd"] { try Data().write(to: folder.appending(path: "ab/\(name)")) }
        #expect(try filesOnDisk(folder.path) == [["key": "abc"], ["key": "abd"]])
        #expect(try filesOnDisk(folder.path, after: "abc") == [["key": "abd"]])
        // A file in place of the folder: even root cannot read it as a folder.
        #expect(throws: (any Error).self) { _ = try filesOnDisk(folder.appending(path: "ab/abc").path) }
    }
}
