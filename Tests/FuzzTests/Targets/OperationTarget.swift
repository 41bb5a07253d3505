import ObjectStore
import ParseProtocol

/// The operation applier: creates, updates and deletes in one job that is rolled back, with the properties that must
/// hold after each.
///
/// An input is an array of steps: `{"create": object}`, and `{"update": changes}` and `{"delete": true}` of the object
/// created last.
struct OperationTarget: FuzzTarget {
    let name = "operations"
    let testInputs = 800
    let dictionary =
        [
            "create", "update", "delete", "__op", "Increment", "amount", "Add", "AddUnique", "Remove", "objects",
            "AddRelation", "RemoveRelation",
            "Batch", "ops", "Delete", "SetOnInsert", "__type", "Pointer", "Object", "Relation", "Date", "iso",
            "GeoPoint", "Polygon", "Bytes",
            "File", "className", "objectId", "createdAt", "updatedAt", "ACL", "*", "read", "write", "role:admins",
            "object.x", "object.x.y",
            "string.x", "new.a.b", "length", "id", "constructor", "__proto__", "_bsontype", "Code", "$a", "a.b", "_x",
            "relation",
        ] + ValueKind.allCases.map(\.rawValue)

    private let store: FuzzStore
    private static let documentBytesMax = 131_072

    init() async throws { store = try await FuzzStore() }

    // MARK: Inputs

    func generate(_ random: inout Seeded) -> [UInt8] {
        var steps: [JSON] = [["create": Self.object(&random)]]
        for _ in 0..<(1 + random.below(6)) {
            switch random.below(8) {
            case 0: steps.append(["create": Self.object(&random)])
            case 1: steps.append(["delete": true])
            default: steps.append(["update": Self.object(&random)])
            }
        }
        return JSON.array(steps).serialized
    }

    private static func object(_ random: inout Seeded) -> JSON {
        var fields: [String: JSON] = [:]
        for _ in 0..<random.below(6) {
            let kind = random.pick(ValueKind.allCases)
            fields[kind.rawValue] = random.chance(60) ? kind.value(&random) : operation(kind, &random)
        }
        if random.chance(20) { fields["object.x"] = ValueKind.any(&random, depth: 1) }
        if random.chance(10) { fields["object.y.k"] = operation(.number, &random) }
        if random.chance(15) {
            let pointers = JSON.array((0..<random.below(3)).map { .pointer("Brand", "b\($0)") })
            fields["relation"] = [
                "__op": .string(random.pick(["AddRelation", "RemoveRelation"])), "objects": pointers,
            ]
        }
        if random.chance(15) { fields["ACL"] = ["annannanna": ["read": true, "write": .bool(random.chance(50))]] }
        return .object(fields)
    }

    private static func operation(_ kind: ValueKind, _ random: inout Seeded) -> JSON {
        switch random.below(5) {
        case 0: ["__op": "Delete"]
        case 1: ["__op": "Increment", "amount": random.pick(ValueKind.numbers)]
        case 2: .null
        default:
            ["__op": .string(random.pick(["Add", "AddUnique", "Remove"])), "objects": ValueKind.array.value(&random)]
        }
    }

    // MARK: Running

    private struct Undo: Error { let outcome: String }

    func run(_ input: [UInt8]) async throws -> String {
        guard case .array(let steps)? = try? JSON(parsing: input) else { return "no steps" }
        do {
            try await store.store.write { job in
                throw Undo(outcome: try Self.apply(Array(steps.prefix(30)), job, input))
            }
            throw Violation("A job that threw was kept.")
        } catch let undo as Undo {
            return undo.outcome
        }
    }

    private static func apply(_ steps: [JSON], _ job: StoreTransaction, _ input: [UInt8]) throws -> String {
        var state = OperationState()
        var outcomes: [String] = []
        for step in steps {
            let isMaster = step["as"] == nil
            let caller = isMaster ? Caller.master : Caller(userId: "annannanna")
            do {
                try job.nested { try state.apply(step, job, caller) }
                outcomes.append("ok")
            } catch let violation as Violation {
                throw violation
            } catch {
                outcomes.append(try PublicError.check(error, input: input))
            }
            try state.check(job, bytesMax: documentBytesMax)
        }
        return Set(outcomes).sorted().joined(separator: ",")
    }
}
