import ObjectStore
import ParseProtocol

/// Objects, some private, some with missing or repeated values, in an indexed class and in the same class without an
/// index.
struct IndexedClass {
    typealias Seeded = GeoRandomTests.Seeded

    static let names = ["Fast", "Plain"]
    static let callers: [Caller] = [.master, .anonymous, ann, admin]

    let test: TestStore
    var random: Seeded
    private var made = 0
    private(set) var ids: [String] = []

    init(_ test: TestStore, seed: UInt64 = 1, objects: Int) async throws {
        self.test = test
        random = Seeded(state: seed)
        try await add(objects)
    }

    mutating func add(_ count: Int) async throws {
        var objects: [(String, JSON)] = []
        for _ in 0..<count {
            made += 1
            let id = "object\(made)"
            ids.append(id)
            objects.append((id, object()))
        }
        let added = objects
        try await test.store.write { job in
            for (id, object) in added {
                for name in Self.names { _ = try job.create(name, object, objectId: id, caller: .master) }
            }
        }
    }

    /// Changes, removes and adds some objects, the same in both classes.
    mutating func stir() async throws {
        for _ in 0..<10 {
            let id = ids[Int.random(in: ids.indices, using: &random)]
            let change = object()
            for name in Self.names { try await test.update(name, id, change) }
        }
        for _ in 0..<5 {
            let id = ids.remove(at: Int.random(in: ids.indices, using: &random))
            for name in Self.names { try await test.delete(name, id) }
        }
        try await add(5)
    }

    private mutating func object() -> JSON {
        var object: [String: JSON] = [:]
        func pick(_ values: [JSON], _ random: inout Seeded) -> JSON { values.randomElement(using: &random) ?? .null }
        object["brand"] = pick([.pointer("Brand", "a"), .pointer("Brand", "b"), .null], &random)
        object["price"] = pick([1, 2, 2.5, 10, .null, .int(Int64.random(in: 0...50, using: &random))], &random)
        let title = JSON.string("t\(Int.random(in: 0...30, using: &random))")
        object["title"] = pick(["x", "X", "ä", "", .null, title], &random)
        object["active"] = pick([true, false, .null], &random)
        object["due"] = pick([date("2020-01-01T00:00:00.000Z"), date("2021-01-01T00:00:00.000Z"), .null], &random)
        let acl = pick([.null, .null, [:], ["annannanna": ["read": true]], ["role:admins": ["read": true]]], &random)
        if !acl.isNull { object["ACL"] = acl }
        return .object(object)
    }

    // MARK: Indexes

    static let wishes = [
        ["brand", "title"], ["brand", "price"], ["active", "due", "price"], ["price"], ["title"], ["createdAt"],
    ]

    func wish(_ fields: [String], for className: String = "Fast") async throws {
        var index = Dictionary(uniqueKeysWithValues: fields.map { ($0, JSON.int(1)) })
        if fields.count > 1 { index["_order"] = .array(fields.map(JSON.string)) }
        let change: JSON = ["indexes": .object(["auto_" + fields.joined(separator: "_"): .object(index)])]
        try await test.store.write { _ = try $0.changeClass(className, change, keeping: []) }
    }

    /// Runs steps until nothing is left to build or remove.
    /// - Returns: the result of each step.
    @discardableResult
    func finish(_ effort: IndexEffort = IndexEffort()) async throws -> [IndexStep] {
        var steps: [IndexStep] = []
        while true {
            let step = try await test.store.stepIndexes(effort)
            if step == .nothing { return steps }
            // Another process performs index work.
            if step == .later { try await Task.sleep(for: .milliseconds(20)) } else { steps.append(step) }
        }
    }

    // MARK: Queries

    private static let conditions: [JSON] = [
        ["brand": .pointer("Brand", "a")], ["brand": .null], ["price": ["$gt": 2]], ["price": 2.5],
        ["price": ["$gte": 2, "$lt": 10.5]], ["price": ["$in": [1, 2.5, 10]]], ["title": "x"], ["title": ["$lt": "t2"]],
        ["active": true], ["active": ["$ne": true]], ["due": ["$gt": date("2020-06-01T00:00:00.000Z")]],
        ["title": ["$exists": true]], ["title": ["$regex": "^t1"]], ["price": ["$nin": [1, 2]]],
    ]
    private static let orders = ["title", "price", "brand", "active", "due", "createdAt", "objectId"]

    mutating func query() -> Query {
        var condition: [String: JSON] = [:]
        for _ in 0..<Int.random(in: 0...3, using: &random) {
            let part = Self.conditions.randomElement(using: &random)?.objectValue ?? [:]
            condition.merge(part) { $1 }
        }
        var order: [String] = []
        for _ in 0..<Int.random(in: 0...2, using: &random) {
            order.append((Bool.random(using: &random) ? "-" : "") + (Self.orders.randomElement(using: &random) ?? ""))
        }
        var query = Query(
            className: "", where: .object(condition), order: order, limit: Bool.random(using: &random) ? 1000 : 7,
            skip: Int.random(in: 0...3, using: &random), wantsCount: true, keys: ["objectId"])
        if Bool.random(using: &random) {
            query.skip = 0
            query.after = ""
        }
        return query
    }

    /// The ids that a query returns and the count. Reads page by page where the query supports cursors.
    func answer(_ query: Query, in className: String, as caller: Caller) async throws -> [String] {
        var query = query
        query.className = className
        var found: [String] = []
        for _ in 0..<4 {
            let page = query
            let body = try JSON(parsing: try await test.store.read { try $0.find(page, caller: caller).body })
            let ids = body["results"]?.arrayValue?.compactMap { $0["objectId"]?.stringValue } ?? []
            found += ids + ["of \(body["count"]?.intValue ?? -1)"]
            guard query.after != nil, !ids.isEmpty else { break }
            query.after = body["cursor"]?.stringValue
        }
        return found
    }

    func plan(_ condition: JSON, order: [String] = [], as caller: Caller = .anonymous) async throws -> String {
        let query = Query(className: "Fast", where: condition, order: order, limit: 20)
        return try await test.store.read { try $0.plan(query, caller: caller) }
    }
}
