import CSQLite
import Foundation
import Testing

@testable import ObjectStore

/// The log joins the writes of a commit (`log.h`).
@Suite struct JoinedLogTests {
    /// Runs `body` while every write to the log fails.
    private static func failing(_ log: UnsafeMutablePointer<sqlite3_file>, _ body: () -> Void) throws {
        let methods = try #require(log.pointee.pMethods)
        var failing = methods.pointee
        failing.xWrite = { _, _, _, _ in SQLITE_FULL }
        withUnsafePointer(to: failing) {
            log.pointee.pMethods = $0
            body()
            log.pointee.pMethods = methods
        }
    }

    @Test func aCommitAfterAFailedWriteIsWhole() throws {
        let folder = NSTemporaryDirectory() + "log-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/test.sqlite"
        let connection = try SQLiteConnection(path: path, writing: .normal)
        defer { connection.close() }
        try connection.executeOnce("CREATE TABLE texts(text TEXT); INSERT INTO texts VALUES ('first')")
        var file: UnsafeMutablePointer<sqlite3_file>?
        sqlite3_file_control(connection.handle, "main", SQLITE_FCNTL_JOURNAL_POINTER, &file)
        let joined = UnsafeMutableRawPointer(try #require(file)).assumingMemoryBound(to: satchel_log.self)
        let log = try #require(joined.pointee.log)
        // The next commit begins at the place of this frame.
        try Self.failing(log) {
            #expect(throws: StoreError.self) { try connection.executeOnce("UPDATE texts SET text = 'lost'") }
        }
        try connection.beginWriting()
        try connection.executeOnce("UPDATE texts SET text = 'second'")
        try connection.commit()
        let reader = try SQLiteConnection(path: path, writing: nil)
        defer { reader.close() }
        #expect(try reader.rows("SELECT text FROM texts").first?.text(0) == "second")
        // Later commits are joined if they begin at `end`.
        try connection.beginWriting()
        try connection.executeOnce("INSERT INTO texts VALUES (hex(zeroblob(20000)))")
        try Self.failing(log) { #expect(throws: StoreError.self) { try connection.commit() } }
        let size = try URL(fileURLWithPath: path + "-wal").resourceValues(forKeys: [.fileSizeKey]).fileSize
        #expect(Int(joined.pointee.end) == size)
    }

    /// A database in memory has no log.
    @Test func aDatabaseInMemoryCommits() throws {
        let connection = try SQLiteConnection(path: SQLiteConnection.inMemory, writing: .normal)
        try connection.executeOnce("CREATE TABLE texts(text TEXT)")
        try connection.beginWriting()
        try connection.executeOnce("INSERT INTO texts VALUES ('first')")
        try connection.commit()
        #expect(try connection.rows("SELECT text FROM texts").first?.text(0) == "first")
    }
}
