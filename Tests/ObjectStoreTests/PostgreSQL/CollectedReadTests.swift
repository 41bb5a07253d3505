import ObjectStore
import ParseProtocol
import Testing

/// Reads of one object that share a round trip have the answers of reads that run alone.
@Suite(.postgresqlOnly("A file has no round trips.")) struct CollectedReadTests {
    /// Texts of the objects; nil for those that have to be read alone or are not found.
    private func bodies(
        _ test: TestStore, _ ids: [String], as caller: Caller, keys: [String] = []
    ) async throws -> [String?] {
        try await test.store.read { reader in
            let collected = try ids.compactMap {
                try reader.collectedRead("T", $0, keys: keys, excludeKeys: [], caller: caller)
            }
            return reader.take(collected, within: .seconds(10)).map { answer in
                (try? answer?.get()).map { String(decoding: $0.body, as: UTF8.self) }
            }
        }
    }

    private func alone(_ test: TestStore, _ ids: [String], as caller: Caller) async throws -> [String?] {
        try await test.store.read { reader in
            try ids.map {
                String(
                    decoding: try reader.get("T", $0, keys: [], excludeKeys: [], caller: caller), as: UTF8.self)
            }
        }
    }

    @Test func objectsComeInTheirOrder() async throws {
        let test = try await TestStore()
        var ids: [String] = []
        for n in 0..<40 { ids.append(try await test.create("T", ["n": .int(Int64(n))])) }
        for caller in [Caller.master, .anonymous, ann, admin] {
            #expect(try await bodies(test, ids, as: caller) == alone(test, ids, as: caller))
        }
        for caller in [Caller.anonymous, ann] {
            let chosen = try await bodies(test, Array(ids.prefix(2)), as: caller, keys: ["createdAt"])
            #expect(chosen.allSatisfy { $0?.contains("\"n\"") == false })
        }
    }

    /// One statement reads the objects of a class for equal callers. Each read has its own answer.
    @Test func readsOfSeveralClassesAndCallersShareARoundTrip() async throws {
        let test = try await TestStore()
        let first = try await test.create("T", ["n": 1])
        let second = try await test.create("T", ["n": 2])
        let closed = try await test.create("T", ["n": 3, "ACL": ["annannanna": ["read": true]]])
        let other = try await test.create("U", ["n": 4])
        // 0 for what is missing or unreadable.
        let wanted: [(className: String, id: String, caller: Caller, n: Int64)] = [
            ("T", second, .anonymous, 2), ("U", other, .anonymous, 4), ("T", closed, .anonymous, 0),
            ("T", closed, ann, 3), ("T", "missing", .master, 0), ("T", first, .anonymous, 1),
            ("T", closed, bob, 0), ("T", closed, .master, 3), ("T", second, .anonymous, 2),
            ("U", "missing", .anonymous, 0), ("T", "", .anonymous, 0), ("T", "\"'],\\é", .anonymous, 0),
            ("U", first, .master, 0), ("U", second, .master, 0),
        ]
        let numbers = try await test.store.read { reader in
            let collected = try wanted.compactMap {
                try reader.collectedRead($0.className, $0.id, keys: [], excludeKeys: [], caller: $0.caller)
            }
            return try reader.take(collected, within: .seconds(10)).map { answer -> Int64? in
                switch answer {
                case .success(let object)?: try JSON(parsing: object.body)["n"]?.intValue
                case .failure(let error)?: error.code == .objectNotFound ? 0 : nil
                case nil: nil
                }
            }
        }
        #expect(numbers == wanted.map(\.n))
    }

    @Test func rightsOfEachCallerHold() async throws {
        let test = try await TestStore()
        let open = try await test.create("T", ["n": 1])
        let closed = try await test.create("T", ["n": 2, "ACL": ["annannanna": ["read": true]]])
        let ids = [closed, open, closed, "missing"]
        #expect(try await bodies(test, ids, as: ann).map { $0 != nil } == [true, true, true, false])
        #expect(try await bodies(test, ids, as: bob).map { $0 != nil } == [false, true, false, false])
        #expect(try await bodies(test, ids, as: .anonymous).map { $0 != nil } == [false, true, false, false])
    }

    @Test func aMissingObjectNeedsNoOtherRead() async throws {
        let test = try await TestStore()
        let id = try await test.create("T", ["n": 1, "ACL": ["annannanna": ["read": true]]])
        let isMissing = try await test.store.read { reader in
            let collected = try ["missing", id].compactMap {
                try reader.collectedRead("T", $0, keys: [], excludeKeys: [], caller: bob)
            }
            return reader.take(collected, within: .seconds(10)).map { answer in
                if case .failure(let error)? = answer { error.code == .objectNotFound } else { false }
            }
        }
        #expect(isMissing == [true, true])
    }

    /// Another process may add a column to a table of a prepared statement.
    @Test func aStatementOfAChangedTableRunsAgain() async throws {
        let test = try await TestStore()
        try await test.store.write { _ = try $0.execute("CREATE TABLE wide(a bigint)") }
        try await test.store.write { _ = try $0.execute("INSERT INTO wide VALUES (1)") }
        let reader = Held(value: try test.store.makeReader())
        #expect(try !reader.isWider())
        try await test.store.write { _ = try $0.execute("ALTER TABLE wide ADD COLUMN b bigint") }
        #expect(try reader.isWider())
    }

    @Test func aReaderCannotWrite() async throws {
        let test = try await TestStore()
        let reader = Held(value: try test.store.makeReader())
        #expect(throws: (any Error).self) {
            _ = try reader.value.rows("UPDATE storeState SET writer = writer RETURNING id")
        }
        #expect(try reader.value.rows("SELECT id FROM storeState").count == 1)
    }

    @Test func aReadThatCannotBeCollectedLeavesTheOthers() async throws {
        let test = try await TestStore()
        let id = try await test.create("T", ["n": 1])
        let found = try await test.store.read { reader in
            let refused = try reader.collectedRead("T", "a\u{0}b", keys: [], excludeKeys: [], caller: .master)
            #expect(refused == nil)
            let collected = try reader.collectedRead("T", id, keys: [], excludeKeys: [], caller: .master)
            return reader.take(collected.map { [$0] } ?? [], within: .seconds(10)).map { $0 != nil }
        }
        #expect(found == [true])
    }

    /// A reader whose connection ended has an answer for none, and continues on another connection.
    @Test func aReadBehindAnEndedConnectionRunsAlone() async throws {
        let test = try await TestStore()
        let id = try await test.create("T", ["n": 1])
        let answers = try await test.store.read { reader in
            _ = try reader.get("T", id, keys: [], excludeKeys: [], caller: .master)
            _ = try? reader.rows("SELECT pg_terminate_backend(pg_backend_pid())", [])
            var answers: [Bool] = []
            for _ in 0..<2 {
                let collected = try reader.collectedRead("T", id, keys: [], excludeKeys: [], caller: .master)
                answers += reader.take(collected.map { [$0] } ?? [], within: .seconds(10)).map { $0 != nil }
                let body = try reader.get("T", id, keys: [], excludeKeys: [], caller: .master)
                #expect(try JSON(parsing: body)["n"] == 1)
            }
            return answers
        }
        #expect(answers.last == true)
    }

    @Test func aReadByAnOldSchemaRunsAlone() async throws {
        let test = try await TestStore()
        let id = try await test.create("T", ["n": 1])
        let reader = Held(value: try test.store.makeReader())
        #expect(try reader.taken(id) == true)
        // The new field changes the schema.
        try await test.update("T", id, ["added": 2])
        #expect(try reader.taken(id) == false)
        let body = try reader.value.get("T", id, keys: [], excludeKeys: [], caller: .master)
        #expect(try JSON(parsing: body)["added"] == 2)
        #expect(try reader.taken(id) == true)
    }

    /// Missing, closed and repeated ones among them.
    @Test func manyAreFetchedInTheirOrder() async throws {
        let test = try await TestStore()
        var ids: [String] = []
        for n in 0..<70 { ids.append(try await test.create("T", ["n": .int(Int64(n))])) }
        let closed = try await test.create("T", ["n": 100, "ACL": ["bobbobbobb": ["read": true]]])
        let wanted = [closed, "missing"] + ids + [ids[3]]
        for (caller, first) in [(ann, []), (.anonymous, []), (.master, [closed])] as [(Caller, [String])] {
            let found = try await test.store.read { reader in
                try reader.fetch("T", ids: wanted, keys: [], caller: caller).map(\.objectId)
            }
            #expect(found == first + ids + [ids[3]])
            await #expect(throws: ParseError.self) {
                try await test.store.read { reader in
                    _ = try reader.fetch("T", ids: [closed, "a\u{0}b"], keys: [], caller: caller)
                }
            }
        }
    }

    /// A page and its check of the schema are one round trip, also after a change of the schema and without rows.
    @Test func pagesFollowTheSchema() async throws {
        let test = try await TestStore()
        let id = try await test.create("T", ["n": 1])
        let reader = Held(value: try test.store.makeReader())
        #expect(try reader.count(["n": 1]) == 1)
        try await test.update("T", id, ["added": 2])
        #expect(try reader.count(["added": 2]) == 1)
        #expect(try reader.count(["added": 3]) == 0)
        // The table is gone with its class.
        try await test.delete("T", id)
        try await test.store.write { try $0.dropClass("T") }
        #expect(try reader.count(["added": 2]) == 0)
        try await test.create("T", ["added": 2])
        #expect(try reader.count(["added": 2]) == 1)
    }

    /// A reader that one task uses at a time.
    private struct Held: @unchecked Sendable {
        let value: StoreReader

        /// The number of objects in a page, which is also that of a query for the count alone.
        func count(_ condition: JSON) throws -> Int {
            var query = Query(className: "T", where: condition.serialized)
            let rows = try value.find(query, caller: .master).rows
            (query.limit, query.wantsCount) = (0, true)
            let body = try JSON(parsing: value.find(query, caller: .master).body)
            #expect(body["count"]?.intValue == Int64(rows))
            return rows
        }

        /// Whether the table `wide` has a second column.
        func isWider() throws -> Bool {
            let row = try #require(try value.rows("SELECT * FROM wide").first)
            return (try? row[1]) != nil
        }

        /// Whether a collected read gets an answer.
        func taken(_ id: String) throws -> Bool? {
            guard let collected = try value.collectedRead("T", id, keys: [], excludeKeys: [], caller: .master)
            else { return nil }
            return value.take([collected], within: .seconds(10)).first.map { $0 != nil }
        }
    }
}
