import ParseProtocol

/// Writes everything of a running suite in the form of another database: schemas, objects, relations, Config and
/// webhooks. Holds a page of objects in memory.
struct OutRun {
    let suite: any ServedSuite
    let writer: any OutWriter

    func run() async throws -> OutReport {
        var report = OutReport()
        let schemas = try await suite.servedSchemas().compactMap { MovedClass(served: $0) }
            .sorted { $0.name < $1.name }
        try writer.begin(schemas.filter { !MovedClass.unlisted.contains($0.name) })
        for schema in schemas {
            ProgressLine.show("Writing \(schema.name)")
            try writer.open(schema)
            // Without their tokens, of which Satchel keeps only keyed hashes, sessions are of no use.
            if schema.name != "_Session" { try await writeObjects(of: schema, &report) }
            try writer.close()
        }
        for schema in schemas {
            for (field, type) in schema.fields.sorted(by: { $0.key < $1.key }) where type["type"] == "Relation" {
                try await writeMembers(of: "_Join:\(field):\(schema.name)", &report)
            }
        }
        try await writeConfig(&report)
        try await writeHooks(&report)
        try writer.finish()
        ProgressLine.end()
        return report
    }

    private func write(_ row: MovedRow, _ report: inout OutReport) throws {
        do {
            try writer.add(row)
            report.rows[row.className, default: 0] += 1
        } catch let problem as UnstorableValue {
            report.refused.append("\(row.className) \(row.objectId): \(problem.reason)")
        }
    }

    private func row(_ className: String, _ id: String, _ fields: [String: JSON]) -> MovedRow {
        MovedRow(
            className: className, objectId: id, updatedAt: nil, fields: fields,
            place: SourcePlace(file: "suite", offset: nil))
    }

    private func writeObjects(of schema: MovedClass, _ report: inout OutReport) async throws {
        var secrets = SecretCursor(suite: suite, className: schema.name)
        for try await page in ServedPages(suite, schema.name) {
            let objects = page.compactMap(\.objectValue)
            let ids = objects.compactMap { $0["objectId"]?.stringValue }
            if schema.name == "_User" { try await secrets.read(through: ids) }
            for object in objects {
                guard let id = object["objectId"]?.stringValue else { continue }
                var fields = object
                if schema.name == "_User" {
                    fields = Self.user(object, secrets.take(id))
                    let canSignIn = fields["_hashed_password"] != nil || fields["authData"] != nil
                    if !canSignIn { report.withoutPassword += 1 }
                }
                try write(row(schema.name, id, fields), &report)
            }
        }
    }

    /// A user's fields with what no read shows.
    static func user(_ object: [String: JSON], _ secrets: JSON?) -> [String: JSON] {
        var fields = object
        let known = (object["authData"]?.objectValue ?? [:]).filter { !["anonymous", "mfa"].contains($0.key) }
        let links = known.merging(secrets?["authData"]?.objectValue ?? [:]) { $1 }
        fields["authData"] = links.isEmpty ? nil : .object(links)
        fields["_hashed_password"] = secrets?["_hashed_password"]
        return fields
    }

    private func writeMembers(of relation: String, _ report: inout OutReport) async throws {
        let fields: [String: JSON] = ["owningId": ["type": "String"], "relatedId": ["type": "String"]]
        try writer.open(MovedClass(name: relation, fields: fields))
        for try await page in MemberPages(suite, relation) {
            for id in page {
                let ids = id.split(separator: ":").map { JSON.string(String($0)) }
                guard ids.count == 2 else { throw MoveInError("The suite lists a relation in an unknown form.") }
                try write(row(relation, id, ["owningId": ids[0], "relatedId": ids[1]]), &report)
            }
        }
        try writer.close()
    }

    private func writeConfig(_ report: inout OutReport) async throws {
        let config = try await suite.json("/config")
        let fields = ["objectId": "String", "params": "Object", "masterKeyOnly": "Object"]
        try writer.open(MovedClass(name: ClassKind.config, fields: fields.mapValues { ["type": .string($0)] }))
        if let parameters = config["params"], parameters != [:] {
            let values: [String: JSON] = [
                "objectId": "1", "params": parameters, "masterKeyOnly": config["masterKeyOnly"] ?? [:],
            ]
            try write(row(ClassKind.config, "1", values), &report)
        }
        try writer.close()
    }

    private func writeHooks(_ report: inout OutReport) async throws {
        let names = ["functionName", "className", "triggerName", "url"]
        let fields = Dictionary(names.map { ($0, ["type": "String"] as JSON) }) { $1 }
        try writer.open(MovedClass(name: ClassKind.hooks, fields: fields))
        for path in ["/hooks/functions", "/hooks/triggers"] {
            for hook in try await suite.json(path).arrayValue ?? [] {
                let values = (hook.objectValue ?? [:]).filter { names.contains($0.key) }
                // Code of the suite itself is no webhook.
                guard values["url"]?.stringValue != nil else { continue }
                try write(row(ClassKind.hooks, JSON.object(values).serializedText, values), &report)
            }
        }
        try writer.close()
    }
}

extension MovedClass {
    private static let leavingClasses = Names.builtInClasses.union(
        ["_Audience", "_PushStatus", "_JobStatus", "_JobSchedule"])
    private static let fieldMembers: Set<String> = ["type", "targetClass", "required", "defaultValue"]
    private static let rights: Set<String> = [
        "find", "count", "get", "create", "update", "delete", "addField", "protectedFields", "readUserFields",
        "writeUserFields",
    ]

    /// A class as the suite's schema route shows it; nil for Satchel's own ones.
    init?(served schema: JSON) {
        guard let name = schema["className"]?.stringValue,
            Names.isIdentifier(name) || Self.leavingClasses.contains(name)
        else { return nil }
        self.init(name: name)
        fields = (schema["fields"]?.objectValue ?? [:]).filter { !$0.key.hasPrefix("_") }.mapValues { field -> JSON in
            // Parse Server has no field of numbers and texts.
            guard field["alsoText"] != true else { return ["type": "String"] }
            return .object((field.objectValue ?? [:]).filter { Self.fieldMembers.contains($0.key) })
        }
        fields["objectId"] = ["type": "String"]
        for time in ["createdAt", "updatedAt"] { fields[time] = ["type": "Date"] }
        fields["ACL"] = ["type": "ACL"]
        classLevelPermissions = schema["classLevelPermissions"]?.objectValue.map { permissions in
            .object(permissions.filter { Self.rights.contains($0.key) })
        }
        indexes = schema["indexes"]?.objectValue ?? [:]
    }
}

/// Reads secrets beside the pages of objects, in the order of ids.
struct SecretCursor {
    private static let rowsMax = 1000

    private let suite: any ServedSuite
    private let className: String
    private var known: [String: JSON] = [:]
    private var last: String? = ""

    init(suite: any ServedSuite, className: String) { (self.suite, self.className) = (suite, className) }

    /// Reads until the secrets of all these objects are known.
    mutating func read(through ids: [String]) async throws {
        guard let end = ids.max(by: { $0.utf8.lexicographicallyPrecedes($1.utf8) }) else { return }
        while let after = last, after.utf8.lexicographicallyPrecedes(end.utf8) {
            let lines = try await suite.secrets(of: className, after: after, limit: Self.rowsMax)
                .split(separator: UInt8(ascii: "\n"))
            var id = after
            for line in lines {
                let parts = line.split(separator: UInt8(ascii: "\t"), maxSplits: 1)
                guard parts.count == 2, let secrets = try? JSON(parsing: Array(parts[1])) else {
                    throw MoveInError("The suite lists secrets in an unknown form: update both to one release.")
                }
                id = String(decoding: parts[0], as: UTF8.self)
                known[id] = secrets
            }
            last = lines.count < Self.rowsMax ? nil : id
        }
    }

    mutating func take(_ id: String) -> JSON? { known.removeValue(forKey: id) }
}

/// What moved out.
struct OutReport: Sendable, Equatable {
    var rows: [String: Int] = [:]
    /// Sentences on rows that the database could not take.
    var refused: [String] = []
    /// Users who can sign in elsewhere only after they reset their passwords.
    var withoutPassword = 0

    private static let refusedMax = 20

    var text: String {
        var lines = rows.sorted { $0.key < $1.key }.map { "\($0.key): \($0.value) rows" }
        lines += refused.prefix(Self.refusedMax).map { "Left out: \($0)" }
        if refused.count > Self.refusedMax { lines.append("Left out: \(refused.count - Self.refusedMax) more") }
        if withoutPassword > 0 {
            lines.append(
                """
                \(withoutPassword) users must reset their passwords: only Satchel can check its own hashes. Those that \
                came from a Parse Server and that no sign-in has replaced went along.
                """)
        }
        lines.append("Sessions stay behind, because Satchel keeps no tokens: users sign in again.")
        lines.append("Files stay where they are: copy them by their URLs, or from the data directory.")
        return lines.joined(separator: "\n")
    }
}
