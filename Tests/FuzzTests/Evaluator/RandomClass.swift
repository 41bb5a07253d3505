import ObjectStore
import ParseProtocol

/// A class with some fields, and documents with random values, some of them missing or null.
struct RandomClass {
    let name: String
    let evaluator: Evaluator
    /// The keys that queries use: the fields, members of Objects, the built-in fields, and one unknown key.
    let keys: [(name: String, kind: ValueKind)]
    /// The existing values by key.
    let values: [String: [JSON]]

    init(_ name: String, documents count: Int, _ store: ClassStore, _ random: inout Seeded) async throws {
        self.name = name
        var fields: [(String, ValueKind)] = [("string", .string), ("number", .number)]
        fields += ValueKind.allCases.filter { _ in random.chance(70) }.map { ("\($0.rawValue)2", $0) }
        let missing = random.below(40)
        let objects = (0..<count).map { _ in Self.object(fields, missing: missing, &random) }
        try await store.write { job in
            for object in objects { _ = try job.create(name, object, isImported: true, caller: .master) }
        }
        let stored = try await store.read { try $0.documents(Query(className: name, limit: count), caller: .master) }
        let known = Dictionary(uniqueKeysWithValues: fields)
        let evaluator = Evaluator(fields: known, target: "Brand", documents: stored)
        var keys = fields.map { (name: $0.0, kind: $0.1) }
        keys += [("objectId", .string), ("createdAt", .date), ("missing", random.pick(ValueKind.allCases))]
        if known["object2"] != nil {
            keys += [("object2.x", .array), ("object2.y", .number), ("object2.k", .string), ("object2.x.y", .date)]
            keys += [
                ("object2.0", .string), ("object2.x.0", .number), ("object2.0.1", .string), ("object2.1x", .number),
            ]
        }
        if known["array2"] != nil {
            keys += [("array2.0", .string), ("array2.1", .number), ("array2.0.x", .number), ("array2.1.0", .string)]
        }
        if known["polygon2"] != nil {
            keys += [("polygon2.coordinates.0.1", .number), ("polygon2.coordinates.1", .array)]
        }
        var values: [String: [JSON]] = [:]
        for (key, _) in keys { values[key] = stored.compactMap { evaluator.value(of: key, in: $0) } }
        self.evaluator = evaluator
        self.keys = keys
        self.values = values
    }

    private static func object(_ fields: [(String, ValueKind)], missing: Int, _ random: inout Seeded) -> JSON {
        var object: [String: JSON] = [:]
        for (field, kind) in fields where !random.chance(missing) {
            object[field] = random.chance(5) ? .null : kind.value(&random, depth: 3)
        }
        let times = [
            "2020-01-01T00:00:00.000Z", "2020-01-01T00:00:00.001Z", "2021-05-05T05:05:05.555Z",
            "1999-12-31T23:59:59.999Z",
        ]
        object["createdAt"] = .string(random.pick(times))
        if random.chance(25) {
            object["ACL"] = random.pick([
                [:], ["*": ["read": true]], ["annannanna": ["read": true]], ["role:admins": ["read": true]],
                ["annannanna": ["write": true], "bobbobbobb": ["read": true]],
            ])
        }
        return .object(object)
    }
}
