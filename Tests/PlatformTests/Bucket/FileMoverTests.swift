import Foundation
import Logging
import ParseProtocol
import Platform
import ServiceKit
import ServiceSupport
import Testing

/// Files moving between disk and bucket: no file is ever lost, wherever a process ends.
@Suite struct FileMoverTests {
    private let sandbox: SandboxStore
    private let path = FileManager.default.temporaryDirectory.path + "/satchel-files-\(Names.random(10))"
    private let double = BucketDouble()

    init() async throws { sandbox = try await SandboxStore(platformPlan) }

    private func home(_ bucket: FileBucket?) -> FileStorage {
        FileStorage(
            store: sandbox.store, folder: FileFolder(dataDirectory: path), bucket: bucket,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
    }

    /// Small files on the disk or in the bucket.
    private func files(_ count: Int, in home: FileStorage) async throws -> [String: [UInt8]] {
        var files: [String: [UInt8]] = [:]
        for number in 0..<count {
            let name = FileNames.storedName("a b\(number).bin")
            let content = [UInt8](repeating: UInt8(number), count: 1000 + number)
            let entry = try await home.keep(
                content, for: .init(name: name, contentType: "application/octet-stream", size: content.count),
                share: nil)
            try await sandbox.store.write { try FileTable.add(entry, in: $0) }
            files[name] = content
        }
        return files
    }

    /// Runs until nothing is left, retrying after failures.
    private func finish(_ mover: FileMover) async throws {
        for _ in 0..<100 {
            do {
                guard case .more = try await mover.round() else { return }
            } catch BucketTrouble.away {
                continue
            }
        }
        Issue.record("It does not end.")
    }

    private func expectReadable(
        _ files: [String: [UInt8]], in home: FileStorage, _ when: String,
        sourceLocation: SourceLocation = #_sourceLocation
    ) async {
        for (name, content) in files {
            let found = try? await home.part(of: name, offset: 0, length: 1 << 20, for: nil)
            #expect(found?.content == content, "\(when)", sourceLocation: sourceLocation)
        }
    }

    private func onDisk(_ files: [String: [UInt8]]) -> Int {
        let folder = FileFolder(dataDirectory: path)
        return files.keys.count { folder.size(of: $0) != nil }
    }

    private func rowsInBucket() async throws -> Int64 {
        try await sandbox.count("SELECT count(*) FROM files WHERE inBucket = 1")
    }

    @Test func filesMoveIntoTheBucketAndStayReadable() async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let files = try await files(4, in: home(nil))
        let readers = home(try double.bucket())
        let bucket = try double.bucket { _ in await expectReadable(files, in: readers, "on the way") }
        try await finish(FileMover(home: home(bucket), bucket: bucket))
        #expect(try await rowsInBucket() == 4)
        #expect(double.names == Set(files.keys))
        // The files are removed after the commit, on the disk's own queue.
        try await settle { onDisk(files) == 0 }
        await expectReadable(files, in: readers, "in the bucket")
        #expect(try await sandbox.count("SELECT count(*) FROM bucketDrops") == 0)
    }

    /// Ends the process at each request in turn; another process continues.
    @Test(arguments: 0..<6) func aMoveThatEndsAnywhereGoesOn(_ number: Int) async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let files = try await files(3, in: home(nil))
        // All attempts of one request.
        double.fail(at: Set(number..<(number + BucketRetry.attemptsMax)))
        let bucket = try double.bucket()
        let ending = FileMover(home: home(bucket), bucket: bucket)
        await #expect(throws: BucketTrouble.self) {
            while case .more = try await ending.round() {}
        }
        await expectReadable(files, in: home(bucket), "after the end")
        try await finish(FileMover(home: home(bucket), bucket: bucket))
        #expect(try await rowsInBucket() == 3)
        await expectReadable(files, in: home(bucket), "at last")
    }

    @Test func whatTheBucketChangesStaysOnTheDisk() async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let files = try await files(2, in: home(nil))
        double.changeContent(true)
        let bucket = try double.bucket()
        try await finish(FileMover(home: home(bucket), bucket: bucket))
        #expect(try await rowsInBucket() == 0)
        #expect(onDisk(files) == 2)
        await expectReadable(files, in: home(bucket), "after it")
    }

    @Test func filesComeHomeAndStayReadable() async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let files = try await files(3, in: home(try double.bucket()))
        #expect(try await rowsInBucket() == 3)
        #expect(onDisk(files) == 0)
        let back = ["SATCHEL_FILES_BUCKET_MOVES": "back"]
        let readers = home(try double.bucket(back))
        let bucket = try double.bucket(back) { _ in await expectReadable(files, in: readers, "on the way") }
        try await finish(FileMover(home: home(bucket), bucket: bucket))
        #expect(try await rowsInBucket() == 0)
        await expectReadable(files, in: home(nil), "at home")
        // They are removed when their URLs have expired.
        #expect(double.names == Set(files.keys))
        #expect(try await sandbox.count("SELECT count(*) FROM bucketDrops") == 3)
    }

    @Test func aFileThatIsDeletedOnItsWayLeavesNothing() async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let files = try await files(1, in: home(nil))
        let name = try #require(files.keys.first)
        let store = sandbox.store
        let bucket = try double.bucket { method in
            guard method == "PUT" else { return }
            _ = try? await store.write { try FileTable.remove(name, in: $0) }
        }
        try await finish(FileMover(home: home(bucket), bucket: bucket))
        let due = try await store.read { try BucketDeletions.due(at: .now, limit: 10, in: $0) }
        #expect(due == [name])
    }

    /// An earlier move of the file failed, and the deletion of its object is due.
    @Test func anObjectThatWaitsForItsFileIsDueWhenTheFileIsRemoved() async throws {
        let store = sandbox.store
        func due() async throws -> [String] {
            try await store.read { try BucketDeletions.due(at: .now, limit: 10, in: $0) }
        }
        try await store.write { transaction in
            try FileTable.add(.init(name: "a", contentType: "text/plain", size: 1), in: transaction)
            try BucketDeletions.add("a", after: .zero, in: transaction)
        }
        #expect(try await due() == ["a"])
        try await store.write { try BucketDeletions.keep("a", in: $0) }
        #expect(try await due() == [])
        _ = try await store.write { try FileTable.remove("a", in: $0) }
        #expect(try await due() == ["a"])
        // The file was removed after the decision.
        try await store.write { try BucketDeletions.keep("a", in: $0) }
        #expect(try await due() == ["a"])
    }

    /// After the restore of a backup that was made while the file moved.
    @Test func aFileThatOnlyTheBucketHasIsFound() async throws {
        defer { try? FileManager.default.removeItem(atPath: path) }
        let files = try await files(1, in: home(nil))
        let bucket = try double.bucket()
        try await finish(FileMover(home: home(bucket), bucket: bucket))
        try await settle { onDisk(files) == 0 }
        _ = try await sandbox.store.write { try $0.execute("UPDATE files SET inBucket = 0") }
        await expectReadable(files, in: home(bucket), "before")
        try await finish(FileMover(home: home(bucket), bucket: bucket))
        #expect(try await rowsInBucket() == 1)
    }

    private func settle(_ condition: () -> Bool) async throws {
        for _ in 0..<1500 where !condition() { try await Task.sleep(for: .milliseconds(20)) }
        #expect(condition())
    }
}
