import Foundation
import Logging
import ObjectStore
import ParseProtocol
import Synchronization
import Testing

/// The guarantees of a commit: whether it waits for the disk, and what is undone for a job without a savepoint.
@Suite struct CommitTests {
    /// A store with money is durable when it answers.
    @Test(arguments: [(Synchronous.full, 2), (Synchronous.normal, 1)] as [(Synchronous, Int64)])
    func theWriterWaitsForTheDiskAsItPromises(synchronous: Synchronous, level: Int64) async throws {
        let folder = NSTemporaryDirectory() + "commit-\(UUID().uuidString)"
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let store = try ClassStore(
            .file(path: folder + "/test.sqlite"), classes: [], synchronous: synchronous, allowClassCreation: true,
            allowCustomObjectId: false, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        await withCheckedContinuation { started in store.startWriting { started.resume() } }
        let found = try await store.write { try $0.rows("PRAGMA synchronous").first?.int(0) }
        let checkpoints = try await store.write { try $0.rows("PRAGMA wal_autocheckpoint").first?.int(0) }
        store.stop()
        #expect(found == level)
        // The writer copies the log between commits.
        #expect(checkpoints == 0)
    }

    /// When the log has grown and no writes wait, the writer copies it into the database. No data is lost.
    @Test(.sqliteOnly("The log is of a file."))
    func aLongLogIsCopiedWhenNobodyWrites() async throws {
        let test = try await TestStore()
        let text = JSON.string(String(repeating: "x", count: 100_000))
        for _ in 0..<60 { try await test.create("T", ["name": "long", "text": text]) }
        let isCopied = try await comesTrue(within: 30) {
            // Reads the size by path: opening and closing the file here would release the store's locks.
            let size = try URL(fileURLWithPath: test.path).resourceValues(forKeys: [.fileSizeKey]).fileSize ?? 0
            // On a busy machine the writer copies the log before the last write. Later log content waits for more.
            return size > 2_000_000
        }
        #expect(isCopied)
        #expect(try await test.names("T", [:]).count == 60)
    }

    // MARK: Jobs without a savepoint

    private typealias Job = @Sendable (StoreTransaction) throws -> Void
    private typealias GroupedJob = (job: Job, atOnce: Bool)

    /// Commits jobs as one group and returns the number of failures.
    private func commit(_ test: TestStore, _ jobs: [GroupedJob], seldomFail: Bool = false) async throws -> Int {
        let gate = DispatchSemaphore(value: 0)
        let (held, holding) = AsyncStream<Void>.makeStream()
        test.store.submit(
            { _ in
                holding.finish()
                gate.wait()
            }, completion: { _ in })
        for await _ in held {}
        let results = Results()
        for (job, atOnce) in jobs {
            test.store.submit(
                seldomFails: seldomFail, job, completion: { results.add($0) }, changesAtOnce: { _ in atOnce })
        }
        gate.signal()
        await results.wait(for: jobs.count)
        return results.failures
    }

    private static func creating(_ name: String, id: String? = nil) -> Job {
        { _ = try $0.create("T", ["name": .string(name)], proposedId: id, caller: .master) }
    }

    @Test func aRefusedCreateLeavesTheOthersOfItsGroup() async throws {
        let test = try await TestStore([ClassDefinition("T", fields: ["name": .string], uniqueIndexes: [["name"]])])
        try await test.create("T", ["name": "taken"])
        let failures = try await commit(
            test,
            [
                (Self.creating("first"), true), (Self.creating("taken"), true), (Self.creating("second"), true),
                ({ _ in throw ParseError(.validationError, "Refused before it began.") }, true),
                (Self.creating("third"), false),
            ])
        #expect(failures == 2)
        #expect(try await test.names("T", [:]) == ["first", "second", "taken", "third"])
    }

    @Test(.sqliteOnly("In PostgreSQL each update has a savepoint."))
    func aRefusedUpdateLeavesTheOthersOfItsGroup() async throws {
        let test = try await TestStore([ClassDefinition("T", fields: ["name": .string], uniqueIndexes: [["name"]])])
        try await test.create("T", ["name": "taken"])
        let (one, two) = (try await test.create("T", ["name": "one"]), try await test.create("T", ["name": "two"]))
        func renaming(_ id: String, to name: String) -> Job {
            { _ = try $0.update("T", id, ["name": .string(name)], caller: .master) }
        }
        let failures = try await commit(
            test,
            [
                (renaming(one, to: "first"), true), (renaming(two, to: "taken"), true),
                (renaming("missing", to: "third"), true), (Self.creating("second"), true),
            ])
        #expect(failures == 2)
        #expect(try await test.names("T", [:]) == ["first", "second", "taken", "two"])
    }

    /// PostgreSQL rejects a single row, before the commit.
    @Test func aRowThatTheEngineRefusesLeavesTheOthersOfItsGroup() async throws {
        let test = try await TestStore([ClassDefinition("T", fields: ["name": .string], indexes: [["name"]])])
        var random = SystemRandomNumberGenerator()
        let long = String((0..<9000).map { _ in "abcdefghijklmnopqrstuvwxyz0123".randomElement(using: &random) ?? "a" })
        let failures = try await commit(
            test,
            [
                (Self.creating("first"), true), (Self.creating(long), true), (Self.creating("second"), true),
                (Self.creating("third"), false),
            ])
        let isTooLong = TestStore.server != nil
        #expect(failures == (isTooLong ? 1 : 0))
        let names = try await test.names("T", ["name": ["$ne": .string(long)]])
        #expect(names == ["first", "second", "third"])
        #expect(try await test.names("T", [:]).count == (isTooLong ? 3 : 4))
    }

    /// When two jobs of a group write the same unique value, the second one sees the first.
    @Test func aGroupStoresAUniqueValueOnce() async throws {
        let test = try await TestStore([ClassDefinition("T", fields: ["name": .string], uniqueIndexes: [["name"]])])
        let failures = try await commit(
            test, [(Self.creating("one"), true), (Self.creating("one"), true), (Self.creating("other"), true)])
        #expect(failures == 1)
        #expect(try await test.names("T", [:]) == ["one", "other"])
    }

    /// A group with a job that fails after a partial change.
    private static let halfWay: [GroupedJob] = [
        (creating("first"), true),
        (
            {
                try creating("half")($0)
                throw ParseError(.validationError, "Too late.")
            }, true
        ), (creating("second"), false),
    ]

    /// Such a job violates the rule for jobs without a savepoint. The group runs again with savepoints.
    @Test func aJobThatFailsHalfWayLeavesTheOthersOfItsGroup() async throws {
        let test = try await TestStore([ClassDefinition("T", fields: ["name": .string])])
        let failures = try await commit(test, Self.halfWay)
        #expect(failures == 1)
        #expect(try await test.names("T", [:]) == ["first", "second"])
    }

    /// SQLite counts no change when it has removed a row from one index and finds the next one damaged.
    @Test(.sqliteOnly("PostgreSQL undoes a failed statement."))
    func whatADamagedIndexLeavesHalfDoneIsUndone() async throws {
        let test = try await TestStore([ClassDefinition("T", fields: ["name": .string])])
        let half: Job = {
            _ = try $0.execute("CREATE TABLE half(uncounted)")
            throw StoreError(resultCode: 779, message: "database disk image is malformed")
        }
        let failures = try await commit(
            test, [(Self.creating("first"), true), (half, true), (Self.creating("second"), true)])
        #expect(failures == 1)
        #expect(try await test.names("T", [:]) == ["first", "second"])
        let tables = try await test.store.write { try $0.rows("SELECT 1 FROM sqlite_schema WHERE name = 'half'").count }
        #expect(tables == 0)
    }

    /// After a failure halfway, the group runs again with savepoints.
    @Test func aJobThatSeldomFailsLeavesTheOthersOfItsGroup() async throws {
        let test = try await TestStore([ClassDefinition("T", fields: ["name": .string])])
        let others: [GroupedJob] = [
            ({ _ in throw ParseError(.validationError, "Refused before it began.") }, false),
            (Self.creating("third"), true),
        ]
        let jobs: [GroupedJob] = Self.halfWay.map { (job: $0.job, atOnce: false) } + others
        #expect(try await commit(test, jobs, seldomFail: true) == 2)
        #expect(try await test.names("T", [:]) == ["first", "second", "third"])
    }

    private static func creatingClass(_ name: String) -> Job {
        { _ = try $0.create(name, ["name": "new"], caller: ann) }
    }

    /// Every job of the group runs twice. A quota counts a job once and refuses the same job again.
    @Test(.sqliteOnly("In PostgreSQL the failing job has a savepoint.")) func aRefusedJobStaysRefused() async throws {
        final class Quota: SchemaQuota {
            let classes = Atomic<Int>(0)
            func addClass(_: String, count _: Int, by _: Caller) throws {
                guard classes.add(1, ordering: .relaxed).oldValue == 0 else {
                    throw ParseError(.requestLimitExceeded, "Too many classes.")
                }
            }
            func addFields(_: AddedFields, by _: Caller) {}
            var uncounted: any SchemaQuota { UnlimitedSchema() }
        }
        let quota = Quota()
        let test = try await TestStore([ClassDefinition("T", fields: ["name": .string])], allowance: quota)
        let runs = Atomic<Int>(0)
        let plain: Job = {
            runs.add(1, ordering: .relaxed)
            try Self.creatingClass("Allowed")($0)
        }
        let jobs: [GroupedJob] = [
            (plain, false), (Self.creatingClass("Refused"), false), (Self.halfWay[1].job, false),
        ]
        #expect(try await commit(test, jobs, seldomFail: true) == 2)
        #expect(runs.load(ordering: .relaxed) == 2)
        #expect(test.store.repeatedGroups == 1)
        #expect(quota.classes.load(ordering: .relaxed) == 3)
        #expect(try await test.names("Allowed", [:]) == ["new"])
        #expect(try await test.names("T", [:]).isEmpty)
    }

    /// Inside a savepoint, the failure undoes only the content of the savepoint.
    @Test func aChangeThatFailsHalfWayIsUndoneByTheSavepointAroundIt() async throws {
        let test = try await TestStore([ClassDefinition("T", fields: ["name": .string])])
        try await test.store.write { transaction in
            try Self.creating("kept")(transaction)
            #expect(throws: ParseError.self) {
                try transaction.nested {
                    try transaction.atOnce {
                        try Self.creating("half")(transaction)
                        throw ParseError(.validationError, "Too late.")
                    }
                }
            }
        }
        #expect(try await test.names("T", [:]) == ["kept"])
    }

    /// SQLite keeps the pages of a savepoint in memory at first, and in a file when there are more.
    @Test(arguments: [3, 300]) func aLargeChangeIsUndoneAsASmallOneIs(rows: Int) async throws {
        let test = try await TestStore([ClassDefinition("T", fields: ["name": .string])])
        let text = String(repeating: "x", count: 3000)
        let ids = try await test.store.write { transaction in
            try (0..<rows).map { _ in
                try transaction.create("T", ["name": "old", "text": .string(text)], caller: .master).objectId
            }
        }
        @Sendable func change(to name: String) -> Job {
            { for id in ids { _ = try $0.update("T", id, ["name": .string(name)], caller: .master) } }
        }
        let failures = try await commit(
            test,
            [
                (Self.creating("before"), false),
                (
                    {
                        try change(to: "new")($0)
                        throw ParseError(.validationError, "Refused at the end.")
                    }, false
                ), (Self.creating("after"), false),
                (
                    { transaction in
                        #expect(throws: ParseError.self) {
                            try transaction.nested {
                                try change(to: "newer")(transaction)
                                throw ParseError(.validationError, "Refused within.")
                            }
                        }
                    }, false
                ),
            ])
        #expect(failures == 1)
        let names = try await test.names("T", [:], limit: 1000)
        #expect(names == ["after", "before"] + [String](repeating: "old", count: rows))
    }

    /// The row and its times form one change, so a refused one needs no savepoint.
    @Test(.sqliteOnly("In PostgreSQL each job has a savepoint."))
    func aRefusedChangeWithItsTimesChangesNothing() async throws {
        let test = try await TestStore([ClassDefinition("T", fields: ["name": .string], uniqueIndexes: [["name"]])])
        try await test.create("T", ["name": "taken"])
        let id = try await test.create("T", ["name": "mine"])
        let kept: JSON = ["createdAt": "2020-01-01T00:00:00.000Z"]
        var changes = kept
        changes["name"] = "taken"
        let refused = changes
        try await test.store.write { transaction in
            #expect(throws: ParseError.self) {
                try transaction.atOnce {
                    try transaction.update("T", id, refused, keepsTimes: true, caller: .master)
                }
            }
            _ = try transaction.atOnce { try transaction.update("T", id, kept, keepsTimes: true, caller: .master) }
        }
        #expect(try await test.get("T", id)["name"] == "mine")
        #expect(try await test.names("T", ["createdAt": ["$lt": date("2021-01-01T00:00:00.000Z")]]) == ["mine"])
    }

    @Test func onlyKnownFieldsOfPlainClassesChangeAtOnce() async throws {
        let test = try await TestStore([
            ClassDefinition("Plain", fields: ["name": .string, "count": .number]),
            ClassDefinition("Words", fields: ["name": .string], textFields: ["name"]),
            ClassDefinition("Place", fields: ["name": .string, "place": .geoPoint]),
        ])
        let cases: [(className: String, object: JSON, isAtOnce: Bool)] = [
            ("Plain", ["name": "a", "ACL": ["*": ["read": true]]], true), ("Plain", [:], true),
            ("Plain", ["name": "a", "fresh": 1], false), ("Plain", ["count.x": 1], false),
            ("Plain", ["createdAt": "2020-01-01T00:00:00.000Z"], false), ("Plain", [1], false),
            ("Words", ["name": "a"], false), ("Place", ["name": "a"], false), ("Nowhere", ["name": "a"], false),
        ]
        try await test.store.write { transaction in
            for (className, object, isAtOnce) in cases {
                #expect(transaction.changesAtOnce(className, object) == isAtOnce, "\(className) \(object)")
            }
            // Fields that the class gains in the same job count.
            _ = try transaction.create("Plain", ["fresh": 1], caller: .master)
            #expect(transaction.changesAtOnce("Plain", ["fresh": 2]))
            let place: JSON = ["__type": "GeoPoint", "latitude": 1, "longitude": 2]
            _ = try transaction.create("Plain", ["somewhere": place], caller: .master)
            #expect(!transaction.changesAtOnce("Plain", ["fresh": 2]))
        }
    }

    /// `provesUpdate` predicts the result of a change and has no side effect.
    @Test func aProvenUpdateIsAccepted() async throws {
        let test = try await TestStore([
            ClassDefinition("Plain", fields: ["name": .string, "count": .number]),
            ClassDefinition("Words", fields: ["name": .string], textFields: ["name"]),
        ])
        let id = try await test.create("Plain", ["name": "a", "count": 1])
        let word = try await test.create("Words", ["name": "a"])
        try await test.store.write { transaction in
            func proves(_ className: String, _ id: String, _ changes: JSON) throws -> Bool {
                try transaction.provesUpdate(className, id, changes, caller: .master)
            }
            #expect(try proves("Plain", id, ["name": "b", "count": 2]))
            #expect(try !proves("Plain", id, ["fresh": 1]))
            #expect(try !proves("Words", word, ["name": "b"]))
            let tooLarge = JSON.string(String(repeating: "x", count: 131_072))
            for refused in [["count": "b"], ["name": "a\0"], ["name": tooLarge]] as [JSON] {
                #expect(throws: ParseError.self) { try proves("Plain", id, refused) }
            }
            #expect(throws: ParseError.self) { try proves("Plain", "missing", ["name": "b"]) }
            let unique: JSON = ["indexes": ["name_1": ["name": 1, "_unique": true]]]
            _ = try transaction.changeClass("Plain", unique, keeping: [])
            #expect(try !proves("Plain", id, ["name": "b"]))
        }
        let stored = try await test.get("Plain", id)
        #expect(stored["name"] == "a")
        #expect(stored["createdAt"] == stored["updatedAt"])
    }
}
