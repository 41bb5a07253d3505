import ParseProtocol

/// A name of a table or column as PostgreSQL keeps it.
enum StoredName {
    static let bytesMax = 63

    /// PostgreSQL cuts longer names off.
    static func cut(_ name: String) -> String { String(decoding: name.utf8.prefix(bytesMax), as: UTF8.self) }
}

/// The schema of a class in the table `_SCHEMA`.
struct StoredSchema: Sendable {
    /// Fields by name, with Parse's own ones.
    let fields: [String: JSON]
    let permissions: JSON?
    let indexes: [String: JSON]

    /// The table with all schemas.
    static let table = "_SCHEMA"
    /// Tables of Parse Server that have no schema in the table of schemas.
    static let unlisted = MovedClass.unlisted.union(["_GlobalConfig", "_Hooks"])
    /// The table of requests that Parse Server answered not long ago.
    private static let ignored = "_Idempotency"
    /// Rights that the schema route always shows.
    private static let rights: [String: JSON] = [
        "find": [:], "get": [:], "count": [:], "create": [:], "update": [:], "delete": [:], "addField": [:],
        "protectedFields": [:],
    ]
    private static let own: [String: JSON] = [
        "objectId": ["type": "String"], "createdAt": ["type": "Date"], "updatedAt": ["type": "Date"],
        "ACL": ["type": "ACL"],
    ]

    /// - Parameter schema: the column `schema`.
    init(_ className: String, _ schema: JSON) {
        // Columns of the storage form begin with `_`.
        var fields = (schema["fields"]?.objectValue ?? [:]).filter { !$0.key.hasPrefix("_") }
        if className == "_User" { fields["password"] = ["type": "String"] }
        self.fields = Self.own.merging(fields) { $1 }
        permissions = schema["classLevelPermissions"]?.objectValue.map { set in
            JSON.object(Self.rights.merging(set) { $1 })
        }
        indexes = schema["indexes"]?.objectValue ?? [:]
    }

    /// The schema of an unlisted class, after its table.
    init(unlisted className: String, _ columns: [StoredColumn]) {
        var fields: [String: JSON] = [:]
        for column in columns where !column.name.hasPrefix("_") {
            fields[column.name] = ["type": .string(column.fieldType)]
        }
        if className == "_JobSchedule" { fields["daysOfWeek"] = ["type": "Array"] }
        if columns.contains(where: { $0.name == "_rperm" }) { fields["ACL"] = Self.own["ACL"] }
        self.fields = fields
        permissions = nil
        indexes = [:]
    }

    func movedClass(_ name: String, rows: Int?, bytes: Int?) -> MovedClass {
        MovedClass(
            name: name, fields: fields, classLevelPermissions: permissions, indexes: indexes, rows: rows, bytes: bytes)
    }

    /// The schemas by class, from the rows of the table.
    static func all(_ rows: [MovedRow]) throws -> [String: StoredSchema] {
        var all: [String: StoredSchema] = [:]
        for row in rows {
            guard let name = row.fields["className"]?.stringValue else {
                throw MoveInError(row.place, "A row of _SCHEMA has no className.")
            }
            if name != ignored { all[name] = StoredSchema(name, row.fields["schema"] ?? [:]) }
        }
        for (table, names) in Dictionary(grouping: all.keys, by: StoredName.cut) where names.count > 1 {
            throw shared(table, names)
        }
        return all
    }

    /// The relation of a class with a schema that a table holds; nil for another table.
    /// - Throws: `MoveInError` for a table that holds several relations, because PostgreSQL cuts their names off.
    static func relation(_ table: String, of schemas: [String: StoredSchema]) throws -> String? {
        guard table.hasPrefix("_Join:") else { return nil }
        if table.utf8.count == StoredName.bytesMax {
            let names = schemas.flatMap { className, schema in
                schema.fields.filter { $0.value["type"] == "Relation" }.keys.map { "_Join:\($0):\(className)" }
            }.filter { StoredName.cut($0) == table }
            guard names.count < 2 else { throw shared(table, names) }
            if let name = names.first { return name }
        }
        let parts = table.split(separator: ":", omittingEmptySubsequences: false)
        return parts.count == 3 && schemas[String(parts[2])] != nil ? table : nil
    }

    private static func shared(_ table: String, _ names: [String]) -> MoveInError {
        MoveInError(
            """
            The table \(table) holds \(names.sorted().joined(separator: " and ")), whose rows nothing tells apart: \
            PostgreSQL keeps \(StoredName.bytesMax) bytes of a name. Give them shorter names on the old server.
            """)
    }
}

/// Converts rows of one table of Parse Server with the columns of one statement.
struct RowForm: Sendable {
    let className: String
    let columns: [StoredColumn]
    private let fields: [String: JSON]
    private let idIndex: Int?

    /// - Parameter schema: nil for a relation and for `_SCHEMA` itself.
    init(_ className: String, _ columns: [StoredColumn], _ schema: StoredSchema?) {
        self.className = className
        let fields = schema?.fields ?? [:]
        let long = Dictionary(
            grouping: fields.keys.filter { $0.utf8.count > StoredName.bytesMax }, by: StoredName.cut)
        self.fields = fields
        self.columns = columns.map { column in
            guard let names = long[column.name], names.count == 1 else { return column }
            var column = column
            column.name = names[0]
            return column
        }
        idIndex = columns.firstIndex { $0.name == "objectId" }
    }

    /// The id of a row, also of a refused one.
    func objectId(_ values: [[UInt8]?]) -> String? {
        idIndex.flatMap { $0 < values.count ? values[$0] : nil }.map { String(decoding: $0, as: UTF8.self) }
    }

    /// - Parameter values: nil for NULL.
    func row(_ values: [[UInt8]?], _ place: SourcePlace) throws(RowProblem) -> MovedRow {
        guard values.count == columns.count else {
            throw RowProblem("It has \(values.count) values for \(columns.count) columns.")
        }
        var fields: [String: JSON] = [:]
        var rights: [String: JSON] = [:]
        var links: [String: JSON] = [:]
        var updatedAt: Int64?
        for (column, bytes) in zip(columns, values) {
            guard let bytes else { continue }
            let value = try column.value(bytes)
            if value.isNull { continue }
            switch column.name {
            case "_rperm", "_wperm": rights[column.name] = value
            case "createdAt", "updatedAt":
                guard let text = value["iso"]?.stringValue ?? value.stringValue, let time = Timestamp(iso: text) else {
                    throw RowProblem("The column \(column.name) is no time.")
                }
                fields[column.name] = .string(text)
                if column.name == "updatedAt" { updatedAt = time.milliseconds }
            case "authData": links.merge(value.objectValue ?? [:]) { $1 }
            case _ where column.name.hasPrefix("_auth_data_"):
                links[String(column.name.dropFirst("_auth_data_".count))] = value
            default: fields[column.name] = wrapped(value, self.fields[column.name])
            }
        }
        if !links.isEmpty { fields["authData"] = .object(links) }
        if !rights.isEmpty { fields["ACL"] = try Self.acl(rights) }
        let objectId = try id(fields)
        return MovedRow(className: className, objectId: objectId, updatedAt: updatedAt, fields: fields, place: place)
    }

    /// The value of a Pointer and of a File, which are stored as texts. Nil for an empty text, which names nothing.
    private func wrapped(_ value: JSON, _ field: JSON?) -> JSON? {
        guard case .string(let text) = value, let type = field?["type"]?.stringValue else { return value }
        switch type {
        case "Pointer":
            guard !text.isEmpty, let target = field?["targetClass"]?.stringValue else { return nil }
            return .pointer(target, text)
        case "File": return text.isEmpty ? nil : ["__type": "File", "name": .string(text)]
        default: return value
        }
    }

    /// The permissions. A list that is missing means all, as in Parse Server's queries.
    private static func acl(_ rights: [String: JSON]) throws(RowProblem) -> JSON {
        var entries: [String: JSON] = [:]
        for (list, right) in [("_rperm", "read"), ("_wperm", "write")] {
            for principal in rights[list]?.arrayValue ?? ["*"] {
                guard let principal = principal.stringValue else {
                    throw RowProblem("The column \(list) holds what is no text.")
                }
                entries[principal, default: [:]][right] = true
            }
        }
        return .object(entries)
    }

    private func id(_ fields: [String: JSON]) throws(RowProblem) -> String {
        let names: [String]
        switch className {
        case _ where className.hasPrefix("_Join:"): names = ["owningId", "relatedId"]
        case "_Hooks": names = fields["functionName"] == nil ? ["className", "triggerName"] : ["functionName"]
        case StoredSchema.table: names = ["className"]
        default: names = ["objectId"]
        }
        let texts = names.compactMap { fields[$0]?.stringValue }
        guard texts.count == names.count, texts.allSatisfy({ !$0.isEmpty && !$0.utf8.contains { $0 < 0x20 } }) else {
            throw RowProblem("It has no id, or one with a control character.")
        }
        return texts.joined(separator: ":")
    }
}
