import Foundation
import ObjectStore
import ParseProtocol
import Synchronization
import Testing

/// Indexes that the store creates automatically. They change no answer, are built and removed in short steps, and
/// continue after a crash.
@Suite struct AutomaticIndexTests {
    private static func schema(_ test: TestStore, _ className: String = "Fast") async throws -> JSON {
        try JSON(parsing: try await test.store.read { try $0.schema(of: className) })
    }

    private static func change(_ test: TestStore, _ index: String, _ change: JSON) async throws {
        let wish: JSON = ["indexes": .object([index: change])]
        try await test.store.write { _ = try $0.changeClass("Fast", wish, keeping: []) }
    }

    private static let delete: JSON = ["__op": "Delete"]

    @Test func answersAreTheSameWithAndWithout() async throws {
        var things = try await IndexedClass(try await TestStore(), objects: 150)
        for fields in IndexedClass.wishes { try await things.wish(fields) }
        // The first rows are indexed; then objects change while the rest is indexed.
        var effort = IndexEffort()
        effort.rowsMax = 40
        let small = effort
        for _ in 0..<4 {
            _ = try await things.test.store.stepIndexes(small)
            try await things.stir()
        }
        try await things.finish()
        for round in 0..<2 {
            for _ in 0..<40 {
                let query = things.query()
                for caller in IndexedClass.callers {
                    let plain = try await things.answer(query, in: "Plain", as: caller)
                    let fast = try await things.answer(query, in: "Fast", as: caller)
                    #expect(fast == plain, "round \(round): \(query) as \(caller)")
                }
            }
            try await things.stir()
        }
    }

    @Test(.sqliteOnly("These indexes are tables, which the writer fills."))
    func pagesAndCountsGoThroughThem() async throws {
        let things = try await IndexedClass(try await TestStore(), objects: 50)
        let brand: JSON = ["brand": .pointer("Brand", "a")]
        #expect(try await things.plan(brand, order: ["title"]).contains("SCAN o"))
        for fields in IndexedClass.wishes { try await things.wish(fields) }
        try await things.finish()
        for caller in IndexedClass.callers {
            let pages: [(JSON, [String])] = [
                (brand, ["title"]), (brand, ["-title"]), ([:], ["price"]), ([:], ["-createdAt"]),
                (["active": true], ["-due"]), (["active": ["$ne": true]], ["title"]),
                (["price": ["$gt": 2.5]], ["price", "title"]),
                (["active": true, "price": ["$lt": 3]], ["due"]),
            ]
            for (condition, order) in pages {
                let plan = try await things.plan(condition, order: order, as: caller)
                let isSorted = !plan.contains("USE TEMP B-TREE FOR ORDER BY")
                #expect(plan.contains(" x USING COVERING INDEX") && isSorted, "\(condition.serializedText): \(plan)")
            }
            // With an index for the order only, the scan would find the few matches late.
            let rare = try await things.plan(["title": ["$regex": "^t1"]], order: ["price"], as: caller)
            #expect(!rare.contains(" x "), "\(rare)")
        }
        // Object ids use the index that every class has.
        #expect(try await !things.plan(["objectId": "object1"], order: ["title"]).contains(" x "))
    }

    @Test(.sqliteOnly("What a run costs is counted in SQLite's instructions."))
    func countingTakesLess() async throws {
        let things = try await IndexedClass(try await TestStore(), objects: 400)
        func work(_ condition: JSON, _ caller: Caller) async throws -> Int {
            let query = Query(className: "Fast", where: condition)
            return try await things.test.store.read { try $0.work(of: query, counts: true, caller: caller).steps }
        }
        let brand: JSON = ["brand": .pointer("Brand", "a")]
        var before: [Int] = []
        for caller in IndexedClass.callers { before.append(try await work(brand, caller)) }
        try await things.wish(["brand", "title"])
        try await things.finish()
        for (caller, steps) in zip(IndexedClass.callers, before) {
            let after = try await work(brand, caller)
            #expect(after < steps, "\(caller)")
        }
    }

    /// Pages of one brand in creation order. Each page begins where the previous one ended.
    @Test(.sqliteOnly("What a run costs is counted in SQLite's instructions."))
    func pagesByCursorsPassOverNothing() async throws {
        let things = try await IndexedClass(try await TestStore(), objects: 600)
        try await things.wish(["brand"])
        try await things.finish()
        for caller in [Caller.master, ann] {
            var query = Query(className: "Fast", where: ["brand": .pointer("Brand", "a")], limit: 10)
            query.after = ""
            var steps: [Int] = []
            for _ in 0..<10 {
                let page = query
                steps.append(try await things.test.store.read { try $0.work(of: page, caller: caller).steps })
                let text = try await things.test.store.read { try $0.find(page, caller: caller).body }
                let body = try JSON(parsing: text)
                #expect(body["results"]?.arrayValue?.count == 10)
                query.after = body["cursor"]?.stringValue
            }
            #expect(steps[9] < 2 * steps[1], "\(steps)")
        }
    }

    @Test(.sqliteOnly("These indexes are tables, which the writer fills."))
    func aStepEndsWhenItsTimeIsOver() async throws {
        let things = try await IndexedClass(try await TestStore(), objects: 100)
        try await things.wish(["title"])
        let clock = SteppedClock(by: 1_000_000)
        var effort = IndexEffort()
        effort.rowsMax = 40
        effort.nanosecondsMax = 10_000_000
        effort.clock = { clock.next() }
        let slow = try await things.finish(effort)
        #expect(slow == Array(repeating: .rows(10), count: 10) + [.ready("auto_title")])
        effort.clock = { 0 }
        try await Self.change(things.test, "auto_title", Self.delete)
        let quick = try await things.finish(effort)
        #expect(quick == [.rows(40), .rows(40), .rows(20), .dropped])
    }

    @Test(.sqliteOnly("These indexes are tables, which the writer fills."))
    func aNewWriterGoesOnWhereTheLastOneWas() async throws {
        let test = try await TestStore()
        let things = try await IndexedClass(test, objects: 60)
        try await things.wish(["title"])
        var effort = IndexEffort()
        effort.rowsMax = 25
        let small = effort
        _ = try await test.store.write { try $0.stepIndexes(small) }
        // A step in a commit that fails leaves nothing.
        struct Lost: Error {}
        await #expect(throws: Lost.self) {
            try await test.store.write { job in
                _ = try job.stepIndexes(small)
                throw Lost()
            }
        }
        test.store.stop()
        let later = try await TestStore(path: test.path)
        let steps = try await Self.steps(later, small)
        #expect(steps == [.rows(25), .rows(10), .ready("auto_title")])
        let rows = try await later.store.read { try $0.rows("SELECT count(*) FROM a1")[0].int(0) }
        #expect(rows == 60)
        withExtendedLifetime(test) {}
    }

    private static func steps(_ test: TestStore, _ effort: IndexEffort) async throws -> [IndexStep] {
        var steps: [IndexStep] = []
        while true {
            let step = try await test.store.write { try $0.stepIndexes(effort) }
            if step == .nothing { return steps }
            steps.append(step)
        }
    }

    // MARK: The schema

    @Test func theSchemaShowsThemAndWhoMadeThem() async throws {
        let test = try await TestStore()
        let things = try await IndexedClass(test, objects: 10)
        #expect(try await Self.schema(test)["automaticIndexes"] == nil)
        try await things.wish(["brand", "title"])
        var schema = try await Self.schema(test)
        #expect(schema["indexes"] == ["_id_": ["_id": 1], "auto_brand_title": ["brand": 1, "title": 1]])
        let shown = schema["automaticIndexes"]?["auto_brand_title"]
        #expect(shown?["state"] == "building")
        #expect(shown?["madeBy"] == "operator")
        #expect(shown?["fields"] == ["brand", "title"])
        try await things.finish()
        schema = try await Self.schema(test)
        #expect(schema["automaticIndexes"]?["auto_brand_title"]?["state"] == "ready")
        // A client may send back the indexes that it read.
        let read: JSON = ["indexes": schema["indexes"] ?? [:]]
        try await test.store.write { _ = try $0.changeClass("Fast", read, keeping: []) }
        #expect(try await things.finish().isEmpty)
    }

    @Test func aRemovedOneIsUnwantedUntilItIsWishedFor() async throws {
        let test = try await TestStore()
        let things = try await IndexedClass(test, objects: 10)
        try await things.wish(["brand", "title"])
        try await things.finish()
        try await Self.change(test, "auto_brand_title", Self.delete)
        for _ in 0..<2 {
            let schema = try await Self.schema(test)
            #expect(schema["indexes"]?["auto_brand_title"] == nil)
            #expect(schema["automaticIndexes"]?["auto_brand_title"]?["state"] == "unwanted")
            let plan = try await things.plan(["brand": .null], order: ["title"])
            #expect(plan.contains("SCAN o") || plan.contains("Seq Scan on o"), "\(plan)")
            try await things.finish()
        }
        #expect(await code { try await Self.change(test, "auto_brand_title", Self.delete) } == 102)
        let uses = Self.need(QueryShape(className: "Fast", equalities: ["brand"], order: ["title"]))
        var limits = IndexLimits()
        limits.rowsMin = 1
        let few = limits
        #expect(try await test.store.write { try $0.beginIndex(for: uses, few) } == .nothing)
        try await things.wish(["brand", "title"])
        #expect(try await things.finish().last == .ready("auto_brand_title"))
        #expect(try await Self.schema(test)["automaticIndexes"]?["auto_brand_title"]?["state"] == "ready")
    }

    @Test func badWishesAreRefused() async throws {
        let test = try await TestStore([ClassDefinition("_Hidden", fields: ["title": .string])])
        _ = try await IndexedClass(test, objects: 3)
        let bad: [(String, JSON)] = [
            ("auto_title", ["price": 1]), ("auto_title", ["title": -1]), ("auto_title", ["title": 1, "_unique": true]),
            ("auto_missing", ["missing": 1]), ("auto_objectId", ["objectId": 1]), ("auto_title", "x"),
        ]
        for (name, wish) in bad {
            #expect(await code { try await Self.change(test, name, wish) } == 102, "\(name) \(wish.serializedText)")
        }
        let wish: JSON = ["indexes": ["auto_title": ["title": 1]]]
        let refused = await code {
            try await test.store.write { _ = try $0.changeClass("_Hidden", wish, keeping: []) }
        }
        #expect(refused == 102)
    }

    @Test func aRemovedFieldOrClassTakesItsIndexesAlong() async throws {
        let test = try await TestStore()
        let things = try await IndexedClass(test, objects: 10)
        for fields in IndexedClass.wishes { try await things.wish(fields) }
        try await things.finish()
        let wish: JSON = ["fields": ["title": Self.delete]]
        try await test.store.write { _ = try $0.changeClass("Fast", wish, keeping: []) }
        let names = Set(try await Self.schema(test)["indexes"]?.objectValue.map { Array($0.keys) } ?? [])
        #expect(names == ["_id_", "auto_brand_price", "auto_active_due_price", "auto_price", "auto_createdAt"])
        try await things.finish()
        for id in things.ids { try await test.delete("Fast", id) }
        try await test.store.write { try $0.dropClass("Fast") }
        try await things.finish()
        let left = try await test.relations("a").filter { $0.dropFirst().first?.isNumber == true }
        #expect(left == [])
        let states = try await test.store.read { try $0.rows("SELECT state FROM automaticIndexes") }
        #expect(states.isEmpty)
    }

    // MARK: Detection of costly queries

    private static func need(_ shape: QueryShape) -> [QueryShape: ShapeTable.Use] {
        var table = ShapeTable()
        for _ in 0..<10 { table.note(shape, cost: 1_000_000, by: .shop, at: 0) }
        return table.wanted(at: 0)
    }

    @Test func scanningQueriesGetAnIndex() async throws {
        let test = try await TestStore()
        // PostgreSQL's cost is a time: a fast server reads 6,000 rows in less than the 5 ms that count as costly.
        let things = try await IndexedClass(test, objects: TestStore.server == nil ? 2_500 : 15_000)
        let query = Query(
            className: "Fast", where: ["brand": .pointer("Brand", "a"), "price": ["$lt": 3]], order: ["-title"],
            limit: 20)
        for _ in 0..<7 { _ = try await test.store.read { try $0.find(query, caller: .master) } }
        #expect(test.store.shapes.wanted.isEmpty)
        for _ in 0..<3 { _ = try await test.store.read { try $0.find(query, caller: .master) } }
        let uses = test.store.shapes.wanted
        let shape = QueryShape(className: "Fast", equalities: ["brand"], range: "price", order: ["title"])
        #expect(Set(uses.keys) == [shape])
        let begun = try await test.store.write { try $0.beginIndex(for: uses, IndexLimits()) }
        #expect(begun == .begun(className: "Fast", name: "auto_brand_title_price"))
        let again = try await test.store.write { try $0.beginIndex(for: uses, IndexLimits()) }
        #expect(again == .nothing)
        let before = try await test.store.read { try $0.work(of: query, caller: ann).steps }
        let found = try await test.store.read { try $0.find(query, caller: ann).body }
        try await things.finish()
        #expect(try await Self.schema(test)["automaticIndexes"]?["auto_brand_title_price"]?["madeBy"] == "satchel")
        #expect(try await test.store.read { try $0.find(query, caller: ann).body } == found)
        guard TestStore.server == nil else {
            // Checks the server's plan only: the time depends on the machine.
            for caller in IndexedClass.callers {
                let plan = try await test.store.read { try $0.plan(query, caller: caller) }
                #expect(plan.contains(" using a1 on o") && !plan.contains("Sort"), "\(plan)")
            }
            return
        }
        let after = try await test.store.read { try $0.work(of: query, caller: ann).steps }
        #expect(after * 5 < before, "\(before) instructions, then \(after)")
    }

    /// The store remembers shapes, so a client must not control the size of each.
    @Test(.sqliteOnly("What a run costs is counted in SQLite's instructions."))
    func aShapeOfManyFieldsIsNotRemembered() async throws {
        let test = try await TestStore([ClassDefinition("Wide")])
        try await test.store.write { job in
            for _ in 0..<2_000 { _ = try job.create("Wide", ["number": 1], caller: .master) }
            let wide = JSON.object(
                Dictionary(uniqueKeysWithValues: (0..<QueryShape.fieldsMax).map { ("f\($0)", JSON.int(1)) }))
            _ = try job.create("Wide", wide, caller: .master)
        }
        for count in [QueryShape.fieldsMax - 1, QueryShape.fieldsMax] {
            var condition: JSON = ["number": 2]
            for number in 0..<count { condition["f\(number)"] = 1 }
            let query = Query(className: "Wide", where: condition)
            for _ in 0..<10 { _ = try await test.store.read { try $0.find(query, caller: .master) } }
            let widths = test.store.shapes.wanted.keys.map(\.equalities.count)
            #expect(widths == [QueryShape.fieldsMax])
        }
    }

    @Test func systemClassesSecretsAndLongTextsGetNone() async throws {
        let permissions = ClassPermissions.open.protecting(["*": ["secret"]])
        let test = try await TestStore([
            ClassDefinition("Kept", fields: ["secret": .string], permissions: permissions), ClassDefinition("_Hidden"),
        ])
        let long = JSON.string(String(repeating: "x", count: 500))
        try await test.store.write { job in
            for number in 0..<10 {
                let object: JSON = ["secret": "s", "text": long, "n": .int(Int64(number))]
                for name in ["Kept", "_Hidden"] { _ = try job.create(name, object, caller: .master) }
            }
        }
        var limits = IndexLimits()
        limits.rowsMin = 1
        let few = limits
        for (className, field, expected) in [
            ("Kept", "secret", .nothing), ("_Hidden", "n", .nothing),
            ("Kept", "n", .begun(className: "Kept", name: "auto_n")),
        ] as [(String, String, IndexDecision)] {
            let uses = Self.need(QueryShape(className: className, equalities: [field]))
            let decision = try await test.store.write { try $0.beginIndex(for: uses, few) }
            #expect(decision == expected, "\(className).\(field)")
        }
        let shape = QueryShape(className: "Kept", order: ["text"])
        let uses = Self.need(shape)
        #expect(try await test.store.write { try $0.beginIndex(for: uses, few) } == .unfit([shape]))
    }
}

/// A clock that advances by a fixed number of nanoseconds at each reading.
private final class SteppedClock: Sendable {
    private let now = Mutex<UInt64>(0)
    private let step: UInt64

    init(by step: UInt64) { self.step = step }

    func next() -> UInt64 {
        now.withLock { now in
            now += step
            return now
        }
    }
}
