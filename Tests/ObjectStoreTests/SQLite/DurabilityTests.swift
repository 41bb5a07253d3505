import Foundation
import Logging
import ObjectStore
import ParseProtocol
import Synchronization
import Testing

/// T9a, T9b, T9c: the store refuses a database that differs from the one it left, and a second writer.
@Suite struct DurabilityTests {
    /// A folder with a database, opened and damaged as a test needs.
    final class Disk {
        let folder: String
        var path: String { folder + "/bag.sqlite" }

        init() throws {
            folder = NSTemporaryDirectory() + "disk-\(Names.random(10))"
            try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(atPath: folder) }

        func store() throws -> ClassStore {
            try ClassStore(
                .file(path: path), classes: [], allowClassCreation: true, allowCustomObjectId: false,
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        }

        /// Opens it. Returns nil as the refusal once the store is the writer.
        func open() async throws -> (ClassStore, DatabaseRefused?) {
            let store = try store()
            // A file may also be refused later, when it is removed while open.
            let isTold = Mutex(false)
            let refusal: DatabaseRefused? = await withCheckedContinuation { continuation in
                @Sendable func tell(_ refusal: DatabaseRefused?) {
                    let isFirst = isTold.withLock { told in
                        defer { told = true }
                        return !told
                    }
                    if isFirst { continuation.resume(returning: refusal) }
                }
                store.startWriting(refused: { tell($0) }) { tell(nil) }
            }
            return (store, refusal)
        }

        /// The reason why it does not open; nil when it opens.
        func refusal() async throws -> String? {
            let (store, refusal) = try await open()
            store.stop()
            return refusal?.description
        }

        /// A copy as a power failure would leave it: everything except the locks.
        func image() throws -> Disk {
            let copy = try Disk()
            for name in ["bag.sqlite", "bag.sqlite-wal", "bag.born"]
            where FileManager.default.fileExists(atPath: "\(folder)/\(name)") {
                try FileManager.default.copyItem(atPath: "\(folder)/\(name)", toPath: "\(copy.folder)/\(name)")
            }
            return copy
        }

        func change(_ name: String, _ body: (inout Data) -> Void) throws {
            let url = URL(fileURLWithPath: "\(folder)/\(name)")
            var data = try Data(contentsOf: url)
            body(&data)
            try data.write(to: url)
        }
    }

    /// Creates `count` objects, each in its own commit.
    private static func fill(_ store: ClassStore, _ count: Int, _ prefix: String = "n") async throws {
        for index in 0..<count {
            _ = try await store.write {
                try $0.create(
                    "T", ["name": .string("\(prefix)\(index)"), "text": .string(String(repeating: "x", count: 3000))],
                    caller: .master)
            }
        }
    }

    private static func count(_ store: ClassStore) async throws -> Int {
        try await store.write { try $0.documents(Query(className: "T", limit: 1000), caller: .master).count }
    }

    /// An image of a database that was killed while its log held 40 commits.
    private static func killed() async throws -> Disk {
        let disk = try Disk()
        let (store, _) = try await disk.open()
        try await fill(store, 40)
        let image = try disk.image()
        store.stop()
        return image
    }

    @Test func whatIsWholeIsOpenedAfterAnyEnd() async throws {
        let image = try await Self.killed()
        let (store, refusal) = try await image.open()
        #expect(refusal == nil)
        #expect(try await Self.count(store) == 40)
        store.stop()
        #expect(try await image.refusal() == nil)
        // A torn last frame, as a killed process leaves it.
        let torn = try await Self.killed()
        try torn.change("bag.sqlite-wal") { $0.append(Data(repeating: 7, count: 1000)) }
        #expect(try await torn.refusal() == nil)
    }

    /// Pages for which the cache has no room reach the log before the commit, and change there once more.
    @Test func aCommitBeyondTheCacheIsWholeInTheLog() async throws {
        let disk = try Disk()
        let (store, _) = try await disk.open()
        try await store.write { transaction in
            let text = JSON.string(String(repeating: "x", count: 3000))
            var ids: [String] = []
            // 24 MB; the cache has 16 MB.
            for _ in 0..<6000 {
                ids.append(try transaction.create("T", ["name": "old", "text": text], caller: .master).objectId)
            }
            for id in ids.prefix(100) { _ = try transaction.update("T", id, ["name": "new"], caller: .master) }
        }
        let image = try disk.image()
        store.stop()
        let (other, refusal) = try await image.open()
        #expect(refusal == nil)
        let query = Query(className: "T", where: ["name": "new"], limit: 1000)
        #expect(try await other.write { try $0.documents(query, caller: .master).count } == 100)
        other.stop()
    }

    @Test func aDatabaseThatIsEmptyOrMissingIsRefused() async throws {
        for change in ["empty", "missing", "empty with its log"] {
            let image = try await Self.killed()
            if change != "empty with its log" {
                try FileManager.default.removeItem(atPath: image.path + "-wal")
            } else {
                try FileManager.default.removeItem(atPath: image.folder + "/bag.born")
            }
            try FileManager.default.removeItem(atPath: image.path)
            if change != "missing" { FileManager.default.createFile(atPath: image.path, contents: nil) }
            let refusal = try await image.refusal()
            #expect(refusal?.contains("empty") == true, "\(change): \(refusal ?? "opened")")
            // When the operator accepts the loss, the store starts empty.
            for name in ["bag.born", "bag.sqlite-wal"] {
                try? FileManager.default.removeItem(atPath: "\(image.folder)/\(name)")
            }
            #expect(try await image.refusal() == nil, "\(change)")
        }
    }

    @Test func aDatabaseCutInHalfIsRefused() async throws {
        let stopped = try Disk()
        let (store, _) = try await stopped.open()
        try await Self.fill(store, 40)
        store.stop()
        try stopped.change("bag.sqlite") { $0 = $0.prefix($0.count / 2) }
        let refusal = try await stopped.refusal()
        #expect(refusal?.contains("cut short") == true, "\(refusal ?? "opened")")
        // Also with a log next to it that contains other pages.
        let again = try Disk()
        let (first, _) = try await again.open()
        try await Self.fill(first, 40)
        first.stop()
        let (second, _) = try await again.open()
        try await Self.fill(second, 1)
        let image = try again.image()
        second.stop()
        try image.change("bag.sqlite") { $0 = $0.prefix($0.count / 2) }
        #expect(try await image.refusal()?.contains("cut short") == true)
    }

    @Test func aDamagedPageIsRefused() async throws {
        let stopped = try Disk()
        let (store, _) = try await stopped.open()
        try await Self.fill(store, 40)
        store.stop()
        try stopped.change("bag.sqlite") { data in
            for page in stride(from: 8192, to: data.count - 4096, by: 8192) {
                data.replaceSubrange(page..<page + 2048, with: Data(repeating: 0xA5, count: 2048))
            }
        }
        #expect(try await stopped.refusal()?.contains("damaged") == true)
        try stopped.change("bag.sqlite") { $0.replaceSubrange(0..<16, with: Data(repeating: 0, count: 16)) }
        #expect(try await stopped.refusal()?.contains("not a database") == true)
    }

    /// The file is larger than what every start checks.
    @Test func aLargeFileIsCheckedAfterAnUncleanStop() async throws {
        let disk = try Disk()
        let (first, _) = try await disk.open()
        try await first.write {
            _ = try $0.execute("CREATE TABLE big(content BLOB)")
            _ = try $0.execute(
                """
                WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 140)
                INSERT INTO big SELECT zeroblob(1000000) FROM n
                """)
        }
        first.stop()
        let (second, _) = try await disk.open()
        let image = try disk.image()
        second.stop()
        #expect(try QuickCheck.run(path: image.path, within: .seconds(60)) == .sound)
        // On a busy machine the interruption may come after the end.
        var outcome = QuickCheck.sound
        for _ in 0..<50 where outcome == .sound {
            outcome = try QuickCheck.run(path: image.path, within: .milliseconds(1))
        }
        #expect(outcome == .unfinished)
        try image.change("bag.sqlite") { data in
            let page = data.count / 4 / 4096 * 4096
            data.replaceSubrange(page..<page + 16 * 4096, with: Data(repeating: 0xA5, count: 16 * 4096))
        }
        let refusal = try await image.refusal()
        #expect(refusal?.contains("damaged") == true, "\(refusal ?? "opened")")
    }

    @Test func aDamagedLogIsRefusedAndLeftAsItIs() async throws {
        let image = try await Self.killed()
        try image.change("bag.sqlite-wal") { data in
            let middle = data.count / 2
            data.replaceSubrange(middle..<middle + 64, with: Data(repeating: 0xA5, count: 64))
        }
        let before = try Data(contentsOf: URL(fileURLWithPath: image.path + "-wal"))
        let refusal = try await image.refusal()
        #expect(refusal?.contains("damaged") == true, "\(refusal ?? "opened")")
        #expect(refusal?.contains("committed later") == true, "\(refusal ?? "opened")")
        #expect(try Data(contentsOf: URL(fileURLWithPath: image.path + "-wal")) == before)
        let header = try await Self.killed()
        try header.change("bag.sqlite-wal") { $0.replaceSubrange(0..<8, with: Data(repeating: 0, count: 8)) }
        #expect(try await header.refusal()?.contains("header") == true)
    }

    /// Two copies share a log up to a point: `image` continues with one short commit, `failed` with long ones. The
    /// longer log's frames after the end of the shorter log are what failed commits leave on a full disk.
    private static func logWithLeftovers(ofCommits count: Int) async throws -> Disk {
        let stored = try await killed()
        let failed = try stored.image()
        let (short, _) = try await stored.open()
        try await fill(short, 1)
        let image = try stored.image()
        short.stop()
        let (long, _) = try await failed.open()
        for _ in 0..<count {
            _ = try await long.write {
                try $0.create("T", ["text": .string(String(repeating: "y", count: 90_000))], caller: .master)
            }
        }
        let tail = try Data(contentsOf: URL(fileURLWithPath: failed.path + "-wal"))
        long.stop()
        try image.change("bag.sqlite-wal") { $0.append(tail[$0.count...]) }
        return image
    }

    /// After a commit failed on a full disk, a shorter one succeeds in its place; then the process is killed.
    @Test func framesOfCommitsThatFailedAreNoReasonToRefuse() async throws {
        for hasCertificate in [true, false] {
            let image = try await Self.logWithLeftovers(ofCommits: 2)
            if !hasCertificate { try FileManager.default.removeItem(atPath: image.folder + "/bag.born") }
            let (store, refusal) = try await image.open()
            #expect(refusal == nil)
            guard refusal == nil else { continue }
            #expect(try await Self.count(store) == 41)
            store.stop()
        }
    }

    /// A generation number in the frames proves that the previous generation was confirmed. The certificate does not
    /// matter: after a power failure it may be older than the log.
    @Test func framesThatProveALaterCommitAreRefusedWithoutACertificate() async throws {
        let image = try await Self.logWithLeftovers(ofCommits: 3)
        #expect(try await image.refusal()?.contains("committed later") == true)
        try FileManager.default.removeItem(atPath: image.folder + "/bag.born")
        let refusal = try await image.refusal()
        #expect(refusal?.contains("committed later") == true, "\(refusal ?? "opened")")
        #expect(refusal?.contains("away") == false, "\(refusal ?? "opened")")
        #expect(refusal?.contains("scripts/accept-loss bag") == true, "\(refusal ?? "opened")")
    }

    @Test func aLogThatIsMissingOrShorterIsRefused() async throws {
        for keep in [0, 2] {
            let image = try await Self.killed()
            try image.change("bag.sqlite-wal") { $0 = $0.prefix($0.count * keep / 10) }
            if keep == 0 { try FileManager.default.removeItem(atPath: image.path + "-wal") }
            let refusal = try await image.refusal()
            #expect(refusal != nil, "\(keep) tenths of the log")
        }
    }

    @Test func anOlderCopyIsRefusedUntilItIsAccepted() async throws {
        let disk = try Disk()
        let (first, _) = try await disk.open()
        try await Self.fill(first, 5)
        first.stop()
        let older = try disk.image()
        let (second, _) = try await disk.open()
        try await Self.fill(second, 5)
        second.stop()
        try FileManager.default.removeItem(atPath: disk.path)
        try FileManager.default.copyItem(atPath: older.path, toPath: disk.path)
        let refusal = try await disk.refusal()
        #expect(refusal?.contains("older") == true, "\(refusal ?? "opened")")
        #expect(refusal?.contains("bag.born") == true, "\(refusal ?? "opened")")
        try FileManager.default.removeItem(atPath: disk.folder + "/bag.born")
        let (third, accepted) = try await disk.open()
        #expect(accepted == nil)
        #expect(try await Self.count(third) == 5)
        third.stop()
    }

    /// T9c: after an orderly stop, all data is in the one database file.
    @Test func aCopyOfTheDatabaseAloneIsAll() async throws {
        let disk = try Disk()
        let (store, _) = try await disk.open()
        try await Self.fill(store, 40)
        store.stop()
        let copy = try Disk()
        try FileManager.default.copyItem(atPath: disk.path, toPath: copy.path)
        let (other, refusal) = try await copy.open()
        #expect(refusal == nil)
        #expect(try await Self.count(other) == 40)
        other.stop()
    }

    /// T9b: the lock belongs to the file, not to a path, which can be removed.
    @Test func twoWritersAreImpossibleThoughTheLockFileIsLost() async throws {
        let disk = try Disk()
        let (first, _) = try await disk.open()
        try await Self.fill(first, 1)
        try FileManager.default.removeItem(atPath: disk.path + ".lock")
        let second = try disk.store()
        second.startWriting {}
        try await Task.sleep(for: .milliseconds(300))
        #expect(second.role == .reader)
        try await Self.fill(first, 1)
        first.stop()
        #expect(await comesTrue(within: 20) { second.role == .writer })
        #expect(try await Self.count(second) == 2)
        second.stop()
    }

    /// T9b
    @Test func aWriterWhoseFileIsReplacedStops() async throws {
        let disk = try Disk()
        let store = try disk.store()
        let refused = Mutex<DatabaseRefused?>(nil)
        await withCheckedContinuation { started in
            store.startWriting(refused: { problem in refused.withLock { $0 = problem } }) { started.resume() }
        }
        try await Self.fill(store, 1)
        try FileManager.default.moveItem(atPath: disk.path, toPath: disk.path + ".moved")
        #expect(await code { try await Self.fill(store, 1) } == 2)
        #expect(await comesTrue(within: 20) { refused.withLock { $0 } != nil })
        #expect(refused.withLock { $0?.description.contains("replaced") } == true)
        store.stop()
    }

    /// All waiting writes fail, not only the commit that detects the replacement.
    @Test func allWhoWaitHearThatTheFileWasReplaced() async throws {
        let disk = try Disk()
        let (store, _) = try await disk.open()
        let gate = DispatchSemaphore(value: 0)
        let (held, holding) = AsyncStream<Void>.makeStream()
        store.submit(
            { _ in
                holding.finish()
                gate.wait()
            }, completion: { _ in })
        for await _ in held {}
        let results = Results()
        // More than two commits.
        for _ in 0..<300 { store.submit({ _ in }, completion: { results.add($0) }) }
        try FileManager.default.moveItem(atPath: disk.path, toPath: disk.path + ".moved")
        gate.signal()
        #expect(await comesTrue(within: 20) { results.count == 300 })
        #expect(results.failures == 300)
        store.stop()
    }
}
