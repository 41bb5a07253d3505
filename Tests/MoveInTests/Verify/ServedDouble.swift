import ParseProtocol

@testable import MoveIn

/// A suite in memory that serves objects, or has rows staged.
struct ServedDouble: MoveSuite, ServedSuite {
    var objects: [String: [[String: JSON]]] = [:]
    /// By relation, `<owner>:<member>`.
    var members: [String: [String]] = [:]
    /// By class and id.
    var hidden: [String: [String: JSON]] = [:]
    var wireSchemas: [JSON] = []
    var config: JSON = ["params": [:]]
    var hooks: [String: JSON] = [:]
    /// Rows by class and id; none after the switch.
    var stagedRows: [String: [String: UInt64]] = [:]

    // MARK: Reads

    func answer(_ path: String, _ options: [String: JSON]) async throws -> [UInt8] {
        let parts = path.split(separator: "/").map(String.init)
        switch parts.first {
        case "schemas": return JSON.object(["results": .array(wireSchemas)]).serialized
        case "config": return config.serialized
        case "hooks": return (hooks[path] ?? []).serialized
        case "classes": return found(parts[1], options).serialized
        default:
            let after = options["after"]?.stringValue ?? ""
            let ids = (members[parts[2]] ?? []).sorted().filter { $0 > after }
            return Array(ids.map { "\($0)\n" }.joined().utf8)
        }
    }

    private func found(_ className: String, _ options: [String: JSON]) -> JSON {
        var found = (objects[className] ?? []).filter { matches($0, options["where"] ?? [:]) }
        let count = found.count
        for key in (options["order"]?.stringValue ?? "objectId").split(separator: ",").reversed() {
            let field = String(key.drop { $0 == "-" })
            // Sorting is stable.
            found.sort { one, other in
                let pair = key.hasPrefix("-") ? (other, one) : (one, other)
                return SampledQuery.isLess(pair.0[field] ?? .null, pair.1[field] ?? .null)
            }
        }
        if let after = options["after"]?.stringValue {
            found = found.filter { ($0["objectId"]?.stringValue ?? "") > after }
        }
        found = Array(found.prefix(Int(options["limit"]?.intValue ?? 100)))
        var answer: JSON = ["results": .array(found.map(JSON.object))]
        if options["count"] != nil { answer["count"] = .int(Int64(count)) }
        if options["after"] != nil { answer["cursor"] = found.last?["objectId"] }
        return answer
    }

    private func matches(_ object: [String: JSON], _ condition: JSON) -> Bool {
        (condition.objectValue ?? [:]).allSatisfy { field, wanted in
            if let list = wanted["$in"]?.arrayValue { return object[field].map { list.contains($0) } ?? false }
            if wanted["$exists"] == true { return object[field] != nil }
            return object[field].map { Canonical.value($0) } == wanted
        }
    }

    func secrets(of className: String, after id: String, limit: Int) async throws -> [UInt8] {
        let lines = (hidden[className] ?? [:]).filter { $0.key > id }.sorted { $0.key < $1.key }.prefix(limit)
        return Array(lines.map { "\($0.key)\t\($0.value.serializedText)\n" }.joined().utf8)
    }

    // MARK: The move

    func state() async throws -> MoveState {
        let classes = stagedRows.map { MoveState.StagedClass(name: $0.key, rows: $0.value.count, bytes: 0) }
        return MoveState(phase: classes.isEmpty ? .switched : .staged, classes: classes)
    }

    func staged(_ className: String, after id: String, limit: Int) async throws -> StagedPage {
        let rows = (stagedRows[className] ?? [:]).filter { $0.key > id }.sorted { $0.key < $1.key }.prefix(limit)
        let lines = rows.map { "\($0.key)\t1\t\(String($0.value, radix: 16))\n" }
        return try StagedPage(parsing: Array(lines.joined().utf8))
    }

    func schemas() async throws -> [JSON] { wireSchemas }
    func stage(_ schema: MovedClass) async throws {}
    func stage(_ batch: Batch, of className: String) async throws {}
    func unstage(_ ids: [String], of className: String, dropsClass: Bool) async throws {}
    func startSwitch(rehearses: Bool) async throws {}
    func drop() async throws {}
    func apply(_ setting: SettingRequest) async throws {}
}
