import Foundation
import ObjectStore
import ParseProtocol
import Testing

/// A store moves to a server and back: all data is identical, and the store continues to work.
@Suite(.enabled(if: TestStore.server != nil, "A move needs a server.")) struct StoreMoveTests {
    private func shop(isNoted: Bool = true) async throws -> MovingShop {
        try await MovingShop(server: TestStore.server ?? "", isNoted: isNoted)
    }

    private static func place(_ latitude: Double, _ longitude: Double) -> JSON {
        ["__type": "GeoPoint", "latitude": .double(latitude), "longitude": .double(longitude)]
    }

    /// Fills it with data that a copy easily loses: all letters, extreme numbers, empty strings, dates, lists, rights,
    /// relations, values of own tables.
    private func fill(_ shop: MovingShop) async throws -> [String] {
        var ids: [String] = []
        let odd: [JSON] = [
            ["name": "Rose Soap", "code": "a", "price": 3, "at": Self.place(48.1, 11.5)],
            ["name": "", "code": "b", "price": .int(9_007_199_254_740_993), "at": Self.place(-90, 180)],
            ["name": "Ägypten 🧼 \u{1F1E9}\u{1F1EA} \u{7}\u{7F} \\ \" '", "code": "c", "price": 0.1, "nothing": .null],
            ["name": "Lavender Soap", "price": .double(-1.5e300), "when": date("1969-12-31T23:59:59.999Z")],
            ["name": "list", "code": "d", "list": [1, "1", true, .null, [], [:]], "deep": ["a": ["b": ["c": ""]]]],
            ["name": "private", "ACL": ["annannanna": ["read": true, "write": true], "role:a": ["read": true]]],
        ]
        for object in odd { ids.append(try await shop.create("Item", object)) }
        let pointer: JSON = ["__type": "Pointer", "className": "Item", "objectId": .string(ids[0])]
        ids.append(
            try await shop.create(
                "Shelf", ["items": ["__op": "AddRelation", "objects": [pointer]], "first": pointer]))
        try await shop.store.write { transaction in
            try transaction.execute("INSERT INTO queue(key, body, weight) VALUES ('empty', x'', -0.0)")
            for value: SQLValue in [.null, .blob([0, 255, 10, 39]), .blob(Array(repeating: 7, count: 90_000))] {
                try transaction.execute(
                    "INSERT INTO queue(key, body, weight) VALUES (?, ?, ?)",
                    [.text(Names.random(8)), value, .real(0.1)])
            }
            for (order, value) in [Int64.min, -1, 0, Int64.max].enumerated() {
                try transaction.execute(
                    "INSERT INTO shares(userId, \"order\", value) VALUES (?, ?, ?)",
                    [.text(["ä", "Z", "", "a'b"][order]), .int(value), order == 1 ? .null : .text("")])
                try transaction.execute(
                    "INSERT INTO marks(day, mark) VALUES (?, ?)", [.int(value), .blob([UInt8(order), 0])])
            }
            for text in ["first", "last"] { try transaction.execute("INSERT INTO log(text) VALUES (?)", [.text(text)]) }
            // Its number is not reused.
            try transaction.execute("DELETE FROM log WHERE text = 'last'")
        }
        return ids
    }

    /// The results of queries that use each kind of index.
    private func found(_ shop: MovingShop) async throws -> [[String]] {
        let near: JSON = ["at": ["$nearSphere": Self.place(48, 11)]]
        return [
            try await shop.names(["name": ["$text": ["$search": ["$term": "soap"]]]]),
            try await shop.names(["name": ["$regex": "avend"]]), try await shop.names(near, order: []),
            try await shop.names(["price": ["$gt": 1]], order: ["-price", "name"]),
            try await shop.names([:], order: ["code", "name"]), try await shop.names(["list": "1"]),
            try await shop.names(["when": ["$lt": date("1970-01-01T00:00:00.000Z")]]),
        ]
    }

    @Test func everythingIsMovedThereAndBackExactly() async throws {
        let shop = try await shop()
        _ = try await fill(shop)
        let (content, answers) = (try await shop.content(), try await found(shop))
        #expect(answers[0] == ["Lavender Soap", "Rose Soap"])
        try await shop.move()
        #expect(!shop.isInFile)
        #expect(try await shop.content() == content)
        #expect(try await found(shop) == answers)
        #expect(try await shop.rows("SELECT name FROM liveTaker") == [[.text("")]])
        try await shop.reopen(isNoted: true)
        try await shop.move()
        #expect(shop.isInFile)
        #expect(try await shop.content() == content)
        #expect(try await found(shop) == answers)
        // The former data is kept, but not the change list.
        let folders = try FileManager.default.contentsOfDirectory(atPath: shop.folder)
        #expect(folders.contains { $0.hasPrefix("moved-") })
        #expect(try await shop.rows("SELECT name FROM sqlite_master WHERE name LIKE 'moving%'") == [])
    }

    /// Numbers continue, unique values remain unique, triggers work again, and new words and places are found.
    @Test(arguments: [1, 2]) func whatIsNewIsAsItWouldHaveBeen(moves: Int) async throws {
        let shop = try await shop()
        let ids = try await fill(shop)
        for _ in 0..<moves {
            try await shop.reopen(isNoted: true)
            try await shop.move()
        }
        let new = try await shop.create("Item", ["name": "New Soap", "code": "new", "at": Self.place(48.2, 11.6)])
        #expect(!ids.contains(new))
        #expect(try await found(shop)[0] == ["Lavender Soap", "New Soap", "Rose Soap"])
        #expect(try await shop.names(["at": ["$nearSphere": Self.place(48.2, 11.6)]], order: []).first == "New Soap")
        #expect(await code { try await shop.create("Item", ["code": "a"]) } == 137)
        try await shop.store.write { transaction in
            try transaction.execute("INSERT INTO queue(key) VALUES ('next')")
            try transaction.execute("INSERT INTO log(text) VALUES ('next')")
        }
        #expect(try await shop.rows("SELECT id FROM queue WHERE key = 'next'") == [[5]])
        #expect(try await shop.rows("SELECT total FROM queued") == [[5]])
        #expect(try await shop.rows("SELECT id FROM log ORDER BY id") == [[1], [3]])
        await #expect(throws: (any Error).self) {
            try await shop.store.write { try $0.execute("UPDATE log SET text = 'other'") }
        }
        try await shop.store.write { _ = try $0.delete("Item", ids[0], caller: .master) }
        #expect(try await found(shop)[0] == ["Lavender Soap", "New Soap"])
    }

    /// While rows are copied, others are added, changed and removed, values of a unique index move between objects, and
    /// classes are created and deleted.
    @Test(arguments: [false, true]) func whatChangesMeanwhileIsThere(isBack: Bool) async throws {
        let shop = try await shop()
        let ids = try await fill(shop)
        for number in 0..<300 {
            try await shop.create(
                "Item",
                ["name": .string("Old \(number)"), "code": .string("n\(number)"), "at": Self.place(1, 2)])
        }
        try await shop.create("Passing", ["name": "gone soon"])
        if isBack {
            try await shop.move()
            try await shop.reopen(isNoted: true)
        }
        var expected: [String: [[SQLValue]]] = [:]
        try await shop.move(
            during: { store in
                for number in 0..<150 {
                    try await Self.wander(store, number, ids)
                }
            },
            after: { store in
                for number in 150..<200 { try await Self.wander(store, number, ids) }
                try await store.write { transaction in
                    _ = try transaction.create("Late", ["name": "late"], objectId: nil, caller: .master)
                    let objects = try Self.objects(of: "Passing", transaction)
                    for object in try transaction.rows("SELECT objectId FROM \(objects)") {
                        _ = try transaction.delete("Passing", object.text(0), caller: .master)
                    }
                    try transaction.dropClass("Passing")
                    _ = try transaction.create("Again", ["name": "with its number"], objectId: nil, caller: .master)
                }
                expected = try await shop.content()
            })
        #expect(try await shop.content() == expected)
        #expect(try await found(shop)[0] == ["Lavender Soap", "Wandered 199 soap"])
        #expect(try await shop.names(["code": "turn"]) == ["Wandered 199 soap"])
    }

    /// Its number is lower than the numbers of earlier commits.
    @Test func aChangeThatIsCommittedLateIsThere() async throws {
        let shop = try await shop()
        _ = try await fill(shop)
        try await shop.move()
        try await shop.reopen(isNoted: true)
        let other = try shop.session()
        try other.run(#"BEGIN; INSERT INTO marks(day, mark) VALUES (70, '\x01')"#)
        try await shop.store.write { try $0.execute("INSERT INTO marks(day, mark) VALUES (80, ?)", [.blob([1])]) }
        var expected: [String: [[SQLValue]]] = [:]
        try await shop.move(after: { _ in
            try other.run("COMMIT")
            expected = try await shop.content()
        })
        #expect(expected["marks"]?.count == 6)
        #expect(try await shop.content() == expected)
    }

    /// The leader ends before the other process, whose last change is committed during the last step.
    @Test func theMoveWaitsForEveryProcessThatWrites() async throws {
        let shop = try await shop()
        _ = try await fill(shop)
        try await shop.move()
        try await shop.reopen(isNoted: true, writers: .every)
        let other = try MovingShop.UncheckedBox(shop.session())
        try other.value.place(isHeld: true)
        try other.value.run(#"BEGIN; INSERT INTO marks(day, mark) VALUES (70, '\x01')"#)
        var ending: Task<Void, any Error>?
        try await shop.move(after: { _ in
            ending = Task.detached {
                try await Task.sleep(for: .seconds(2))
                try other.value.run("COMMIT")
                try other.value.place(isHeld: false)
            }
        })
        try await ending?.value
        #expect(try await shop.content()["marks"]?.count == 5)
    }

    private static func objects(of className: String, _ transaction: StoreTransaction) throws -> String {
        "o\(try transaction.rows("SELECT id FROM classes WHERE name = ?", [.text(className)]).first?.int(0) ?? 0)"
    }

    /// One change of each kind.
    private static func wander(_ store: ClassStore, _ number: Int, _ ids: [String]) async throws {
        try await store.write { transaction in
            // The value moves from one object to another in one commit.
            let (turn, other) = (ids[number % 2], ids[(number + 1) % 2])
            let name = JSON.string("Wandered \(number) soap")
            _ = try transaction.update(
                "Item", other, ["code": .string("off \(other)"), "name": "quiet"], caller: .master)
            _ = try transaction.update(
                "Item", turn, ["code": "turn", "name": name, "at": place(Double(number % 80), 3)], caller: .master)
            _ = try transaction.create(
                "Item", ["name": "fresh", "code": .string("f\(number)")], objectId: nil, caller: .master)
            try transaction.execute(
                "INSERT INTO queue(key, body) VALUES (?, ?)", [.text("k\(number)"), .blob([1, 0])])
            try transaction.execute("DELETE FROM queue WHERE key = ?", [.text("k\(number - 3)")])
            try transaction.execute(
                "INSERT INTO marks(day, mark) VALUES (1, ?) ON CONFLICT DO NOTHING", [.blob([UInt8(number % 9), 39])])
            try transaction.execute(
                "DELETE FROM marks WHERE day = 1 AND mark = ?", [.blob([UInt8((number + 4) % 9), 39])])
            try transaction.execute("UPDATE shares SET \"order\" = \"order\" + 1 WHERE userId = 'Z'")
        }
    }

    // MARK: Refusals

    @Test func aZeroInATextIsRefusedAndNothingIsLeftThere() async throws {
        let shop = try await shop()
        _ = try await fill(shop)
        try await shop.store.write { try $0.execute("INSERT INTO log(text) VALUES (?)", [.text("a\0b")]) }
        let content = try await shop.content()
        let refusal = await #expect(throws: MoveRefused.self) { try await shop.move() }
        #expect(refusal?.description.contains("table log, at key (3)") == true, "\(refusal?.description ?? "")")
        #expect(shop.isInFile)
        #expect(try await shop.content() == content)
        try await shop.store.write { try $0.execute("DELETE FROM log WHERE id > 1") }
        try await shop.move()
        #expect(!shop.isInFile)
    }

    @Test func aStoreWithoutAChangeListIsNotMoved() async throws {
        let shop = try await shop(isNoted: false)
        let refusal = await #expect(throws: MoveRefused.self) { try await shop.move() }
        #expect(refusal?.description == "The service does not note what it changes.")
    }

    /// The change list is removed with its move, including every trigger and function.
    @Test(arguments: [false, true]) func theListOfChangesEnds(isOnServer: Bool) async throws {
        let shop = try await shop()
        _ = try await fill(shop)
        if isOnServer {
            try await shop.move()
            try await shop.reopen(isNoted: true)
        }
        let list =
            isOnServer
            ? """
            SELECT proname FROM pg_proc WHERE proname LIKE 'moving%'
            AND pronamespace = quote_ident(current_schema())::regnamespace
            """
            : "SELECT name FROM sqlite_master WHERE name LIKE 'moving%'"
        #expect(try await shop.rows(list).count > 20)
        try await shop.reopen(isNoted: false)
        #expect(try await shop.rows(list) == [])
        try await shop.create("Item", ["name": "after"])
    }
}
