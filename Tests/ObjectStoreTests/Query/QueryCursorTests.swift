import Foundation
import ObjectStore
import ParseProtocol
import Testing

/// Pages that continue by cursors: every object appears once, in order, despite writes between two pages.
@Suite struct QueryCursorTests {
    private struct Page {
        let names: [String]
        let cursor: String?
    }

    private static func page(
        _ test: TestStore, after: String?, _ order: [String], where condition: JSON = [:], limit: Int = 3,
        as caller: Caller = .master
    ) async throws -> Page {
        var query = Query(className: "Item", where: condition, order: order, limit: limit)
        query.after = after
        let wanted = query
        let body = try JSON(parsing: try await test.store.read { try $0.find(wanted, caller: caller).body })
        return Page(
            names: body["results"]?.arrayValue?.compactMap { $0["name"]?.stringValue } ?? [],
            cursor: body["cursor"]?.stringValue)
    }

    private static func walk(
        _ test: TestStore, _ order: [String], where condition: JSON = [:], limit: Int = 3,
        between: () async throws -> Void = {}
    ) async throws -> [String] {
        var (after, names) = ("", [String]())
        while true {
            let page = try await Self.page(test, after: after, order, where: condition, limit: limit)
            guard let next = page.cursor else { return names }
            if page.names.isEmpty { return names }
            names += page.names
            after = next
            try await between()
        }
    }

    private static func filled() async throws -> TestStore {
        let test = try await TestStore(allowCustomObjectId: true)
        try await test.create("Brand", ["title": "One"], id: "one")
        try await test.create("Brand", ["title": "Two"], id: "two")
        for index in 0..<40 {
            var object: [String: JSON] = [
                "name": .string("n\(index)"), "group": .int(Int64(index % 4)), "price": .double(Double(index % 7) / 3),
                "place": ["floor": .int(Int64(index % 5))],
            ]
            if index % 3 != 0 { object["rare"] = .string("r\(index % 5)") }
            if index % 2 == 0 { object["brand"] = .pointer("Brand", index % 4 == 0 ? "one" : "two") }
            if index % 4 != 1 { object["mixed"] = .int(Int64(index % 6)) }
            try await test.create("Item", .object(object), id: "id\((index * 7) % 40)")
        }
        return test
    }

    @Test func cursorsGiveTheSameRowsAsOnePage() async throws {
        let test = try await Self.filled()
        for order in [
            [], ["name"], ["-name"], ["group"], ["-group"], ["group", "-price"], ["-group", "rare"],
            ["rare", "-group"],
            ["-rare", "price"], ["-rare", "-mixed", "name"], ["price"], ["-createdAt"], ["createdAt", "-objectId"],
            ["objectId"],
            ["place.floor", "-rare"], ["brand.title", "-group"], ["-brand.title"], ["brand"], ["unknown", "-group"],
            ["$natural"], ["-$natural"], ["group", "-$natural"],
        ] {
            for limit in [1, 3, 7] {
                let whole = try await test.names("Item", [:], order: order)
                let walked = try await Self.walk(test, order, limit: limit)
                #expect(walked == whole, "\(order) by \(limit)")
            }
            let some: JSON = ["$or": [["group": ["$in": [1, 2]]], ["rare": .null]]]
            let whole = try await test.names("Item", some, order: order)
            #expect(try await Self.walk(test, order, where: some) == whole, "\(order) with a condition")
        }
    }

    @Test func theOrderOfMakingHasBothDirectionsAndNothingBehindIt() async throws {
        let test = try await Self.filled()
        let made = try await test.names("Item", [:], order: [])
        #expect(try await test.names("Item", [:], order: ["$natural"]) == made)
        #expect(try await test.names("Item", [:], order: ["-$natural"]) == made.reversed())
        #expect(await code { _ = try await test.names("Item", [:], order: ["-$natural", "name"]) } == 102)
    }

    @Test func theIdOfTheLastObjectGoesOnAsTheCursorDoes() async throws {
        let test = try await Self.filled()
        let all = try await test.store.read {
            try $0.documents(Query(className: "Item", order: ["-group", "rare"]), caller: .master)
        }
        let id = try #require(all[9]["objectId"]?.stringValue)
        let page = try await Self.page(test, after: id, ["-group", "rare"])
        #expect(page.names == all[10..<13].compactMap { $0["name"]?.stringValue })
        let first = try await Self.page(test, after: nil, ["name"])
        #expect(first.cursor == nil, "Only who asks for cursors gets them.")
    }

    /// The position remains valid although the cursor's object moved, lost its field or was deleted.
    @Test(arguments: ["change", "unset", "delete"])
    func aCursorOutlivesItsObject(_ what: String) async throws {
        let test = try await Self.filled()
        for order in [["price", "name"], ["-rare", "name"]] {
            let whole = try await test.store.read {
                try $0.documents(Query(className: "Item", order: order), caller: .master)
            }
            let page = try await Self.page(test, after: "", order, limit: 5)
            let cursor = try #require(page.cursor)
            let id = try #require(whole[4]["objectId"]?.stringValue)
            switch what {
            case "change": try await test.update("Item", id, ["price": -1, "rare": "zz"])
            case "unset": try await test.update("Item", id, ["price": ["__op": "Delete"], "rare": "zz"])
            default:
                try await test.delete("Item", id)
                #expect(
                    await code { _ = try await Self.page(test, after: id, order) } == 102,
                    "By its id the object is gone.")
            }
            let rest = try await Self.page(test, after: cursor, order, limit: 100)
            #expect(rest.names == whole[5...].compactMap { $0["name"]?.stringValue }, "\(order)")
        }
    }

    /// Unmodified objects appear exactly once while others are created, changed and deleted.
    @Test func writersNeitherHideNorRepeatAnObject() async throws {
        let test = try await Self.filled()
        let stable = Set((0..<40).map { "n\($0)" })
        for order in [["group"], ["-price", "group"], ["-createdAt"], [], ["-rare"]] {
            let writer = Task {
                var ids: [String] = []
                var round = 0
                while !Task.isCancelled {
                    round += 1
                    ids.append(
                        try await test.create(
                            "Item",
                            [
                                "name": .string("w\(round)"), "group": .int(Int64(round % 4)),
                                "price": .double(Double(round % 5)), "rare": "r2",
                            ]))
                    if let id = ids.randomElement() {
                        try await test.update("Item", id, ["group": .int(Int64(round % 3)), "price": 0])
                    }
                    if ids.count > 5 { try await test.delete("Item", ids.removeFirst()) }
                }
                for id in ids { try await test.delete("Item", id) }
            }
            let seen = try await Self.walk(test, order, limit: 4) { try await Task.sleep(for: .milliseconds(2)) }
            writer.cancel()
            try await writer.value
            let stableSeen = seen.filter(stable.contains)
            #expect(stableSeen.count == 40, "\(order)")
            #expect(Set(stableSeen) == stable, "\(order)")
        }
    }

    /// SQLite gives the row number of a deleted last row to the next new object.
    @Test func anObjectThatTakesADeletedOnesRowIsNotSkipped() async throws {
        let test = try await TestStore()
        try await test.create("Item", ["name": "a"])
        let last = try await test.create("Item", ["name": "b"])
        let end = try await Self.page(test, after: "", [])
        #expect(end.names == ["a", "b"])
        try await test.delete("Item", last)
        try await test.create("Item", ["name": "c"])
        let next = try await Self.page(test, after: end.cursor, [])
        #expect(next.names == ["c"])
        let nothing = try await Self.page(test, after: next.cursor, [])
        #expect(nothing.names.isEmpty)
        #expect(nothing.cursor == next.cursor)
    }

    @Test func aCursorOfAnotherQueryOrAForgedOneIsRefused() async throws {
        let test = try await Self.filled()
        let cursor = try #require(try await Self.page(test, after: "", ["name"]).cursor)
        func encoded(_ json: JSON) -> String {
            "~"
                + Data(json.serialized).base64EncodedString().replacing("+", with: "-").replacing("/", with: "_")
                .replacing("=", with: "")
        }
        for (after, order) in [
            (cursor, ["-name"]), (cursor, []), ("~", ["name"]), ("~!!", ["name"]), (cursor + "A", ["name"]),
            ("x'; DROP TABLE o1", ["name"]),
            (encoded(["Item", ["name"], [], 1, "x"]), ["name"]),
            (encoded(["Item", ["name"], [[:]], 1, "x"]), ["name"]),
            (encoded(["Brand", ["name"], ["a"], 1, "x"]), ["name"]),
            (encoded(["Item", "name", ["a"], 1, "x"]), ["name"]),
            (encoded(["Item", ["name"], ["a"], 1.5, "x"]), ["name"]),
            ("~" + String(repeating: "A", count: 10_000), ["name"]), ("nobody", ["name"]),
        ] {
            #expect(await code { _ = try await Self.page(test, after: after, order) } == 102, "\(after.prefix(80))")
        }
        // In PostgreSQL, a cursor contains a document's value as JSON text.
        let value = JSON.string("' OR 1=1 --")
        let mark = TestStore.server == nil ? value : .string(value.serializedText)
        let forged = try await Self.page(
            test, after: encoded(["Item", ["name"], [mark], -5, "' --"]), ["name"], limit: 100)
        #expect(forged.names.count == 40, "A value is a value, whatever is in it.")
        #expect(
            await code {
                try await test.store.read {
                    var query = Query(className: "Item", skip: 1)
                    query.after = ""
                    _ = try $0.find(query, caller: .master)
                }
            } == 102)
    }

    /// Unreadable objects are invisible: they appear neither in pages nor as the position to continue from.
    @Test func cursorsKeepToTheRightsOfTheCaller() async throws {
        let test = try await TestStore()
        var hidden = ""
        for index in 0..<9 {
            let id = try await test.create(
                "Item",
                [
                    "name": .string("n\(index)"),
                    "ACL": index % 2 == 0 ? ["*": ["read": true]] : ["annannanna": ["read": true]],
                ])
            if index == 3 { hidden = id }
        }
        let first = try await Self.page(test, after: "", ["name"], as: bob)
        let second = try await Self.page(test, after: first.cursor, ["name"], as: bob)
        #expect(first.names + second.names == ["n0", "n2", "n4", "n6", "n8"])
        let id = hidden
        #expect(await code { _ = try await Self.page(test, after: id, ["name"], as: bob) } == 102)
        #expect(try await Self.page(test, after: id, ["name"], as: ann).names == ["n4", "n5", "n6"])
    }

    @Test func distanceAndRankHaveNoCursor() async throws {
        let test = try await TestStore([
            ClassDefinition("Item", fields: ["name": .string, "at": .geoPoint], textFields: ["name"])
        ])
        try await test.create("Item", ["name": "a tree"])
        let near: JSON = ["at": ["$nearSphere": ["__type": "GeoPoint", "latitude": 1, "longitude": 1]]]
        #expect(await code { _ = try await Self.page(test, after: "", [], where: near) } == 102)
        let text: JSON = ["name": ["$text": ["$search": ["$term": "tree"]]]]
        #expect(await code { _ = try await Self.page(test, after: "", ["$score"], where: text) } == 102)
        #expect(try await Self.page(test, after: "", ["name"], where: text).names == ["a tree"])
    }

    /// The index finds the position: the tenth page costs as much as the first.
    @Test(.sqliteOnly("The plan is in the words of SQLite."))
    func anIndexFindsThePlace() async throws {
        let test = try await TestStore([
            ClassDefinition("Item", fields: ["name": .string], indexes: [["name"], ["createdAt"]])
        ])
        for index in 0..<5 { try await test.create("Item", ["name": .string("n\(index)")]) }
        for (order, index) in [
            (["name"], "_name (<expr>>?)"), (["-createdAt"], "_createdAt (createdAt<?)"),
            ([], "INTEGER PRIMARY KEY (rowid>?)"), (["-$natural"], "INTEGER PRIMARY KEY (rowid<?)"),
        ] {
            let cursor = try await Self.page(test, after: "", order).cursor
            let plan = try await test.store.read {
                var query = Query(className: "Item", order: order)
                query.after = cursor
                return try $0.plan(query, caller: .anonymous)
            }
            #expect(plan.contains(index), "\(plan)")
            #expect(!plan.contains("TEMP B-TREE"), "\(plan)")
        }
    }
}
