import ParseProtocol

/// Parse Server's storage form in PostgreSQL: the opposite of `RowForm`.
enum PostgreSQLForm {
    struct Column: Equatable {
        var name: String
        /// PostgreSQL's type.
        var type: String
    }

    private static let types = [
        "String": "text", "Number": "double precision", "Boolean": "boolean", "Date": "timestamp with time zone",
        "Object": "jsonb", "Array": "jsonb", "GeoPoint": "point", "File": "text", "Bytes": "jsonb",
        "Polygon": "polygon", "Pointer": "text",
    ]

    /// Columns of `_User` that are no fields.
    private static let userColumns = [
        Column(name: "_hashed_password", type: "text"),
        Column(name: "_email_verify_token_expires_at", type: "timestamp with time zone"),
        Column(name: "_email_verify_token", type: "text"),
        Column(name: "_account_lockout_expires_at", type: "timestamp with time zone"),
        Column(name: "_failed_login_count", type: "double precision"), Column(name: "_perishable_token", type: "text"),
        Column(name: "_perishable_token_expires_at", type: "timestamp with time zone"),
        Column(name: "_password_changed_at", type: "timestamp with time zone"),
        Column(name: "_password_history", type: "jsonb"),
    ]

    /// The columns of a class's table.
    static func columns(of schema: MovedClass) -> [Column] {
        if RelationName(schema.name) != nil {
            return ["relatedId", "owningId"].map { Column(name: $0, type: "character varying(120)") }
        }
        var columns = schema.fields.sorted { $0.key < $1.key }.compactMap { name, field -> Column? in
            guard !isSecret(name, of: schema), let type = types[field["type"]?.stringValue ?? ""] else { return nil }
            return Column(name: name, type: type)
        }
        if schema.fields["ACL"] != nil {
            columns += ["_rperm", "_wperm"].map { Column(name: $0, type: "text[]") }
        }
        return schema.name == "_User" ? columns + userColumns : columns
    }

    /// Whether `_User` stores the field as a hash. Other classes may have a field of this name.
    private static func isSecret(_ field: String, of schema: MovedClass) -> Bool {
        schema.name == "_User" && field == "password"
    }

    /// - Throws: `MoveInError` when the cut names of two tables, or of two columns of a table, are equal.
    static func check(_ schemas: [MovedClass]) throws {
        var tables = schemas.map(\.name)
        for schema in schemas {
            let relations = schema.fields.filter { $0.value["type"] == "Relation" }
            tables += relations.keys.map { "_Join:\($0):\(schema.name)" }
            try check(columns(of: schema).map(\.name))
        }
        try check(tables)
    }

    private static func check(_ names: [String]) throws {
        for (_, equal) in Dictionary(grouping: names, by: StoredName.cut) where equal.count > 1 {
            throw MoveInError(
                """
                PostgreSQL keeps \(StoredName.bytesMax) bytes of a name, in which \
                \(equal.sorted().joined(separator: " and ")) are equal: write --to mongodump:FOLDER.
                """)
        }
    }

    /// The columns that identify a row; none for webhooks.
    private static func key(of schema: MovedClass) -> [String] {
        if RelationName(schema.name) != nil { return ["relatedId", "owningId"] }
        return schema.name == ClassKind.hooks ? [] : ["objectId"]
    }

    /// A name as PostgreSQL keeps it.
    static func quoted(_ name: String) -> String {
        "\"\(StoredName.cut(name).replacing("\"", with: "\"\""))\""
    }

    /// The statement that makes the class's table.
    static func table(_ schema: MovedClass) -> String {
        let key = key(of: schema)
        var lines = columns(of: schema).map {
            "    \(quoted($0.name)) \($0.type)\(key.contains($0.name) ? " NOT NULL" : "")"
        }
        if !key.isEmpty { lines.append("    PRIMARY KEY (\(key.map(quoted).joined(separator: ", ")))") }
        return "CREATE TABLE \(quoted(schema.name)) (\n\(lines.joined(separator: ",\n"))\n);\n"
    }

    /// The statements that make the class's indexes. Of equal names in several classes, the first counts, as in Parse
    /// Server.
    static func indexes(_ schema: MovedClass) -> String {
        let columns = Set(columns(of: schema).map(\.name))
        return schema.indexes.sorted { $0.key < $1.key }.compactMap { name, index -> String? in
            let fields = LeavingIndex.fields(index)
            guard name != "_id_", !fields.isEmpty, fields.allSatisfy({ columns.contains($0.name) }) else { return nil }
            let list = fields.map { quoted($0.name) + ($0.direction < 0 ? " DESC" : "") }.joined(separator: ", ")
            return "CREATE INDEX IF NOT EXISTS \(quoted(name)) ON \(quoted(schema.name)) (\(list));\n"
        }.joined()
    }

    /// The column `schema` of `_SCHEMA`.
    static func stored(_ schema: MovedClass) -> JSON {
        let texts: JSON = ["type": "Array", "contents": ["type": "String"]]
        var fields = schema.fields.filter { $0.key != "ACL" && !isSecret($0.key, of: schema) }
        for name in ["_rperm", "_wperm"] { fields[name] = texts }
        if schema.name == "_User" { fields["_hashed_password"] = ["type": "String"] }
        var stored: JSON = ["className": .string(schema.name), "fields": .object(fields)]
        if let permissions = schema.classLevelPermissions { stored["classLevelPermissions"] = permissions }
        if !schema.indexes.isEmpty { stored["indexes"] = .object(schema.indexes) }
        return stored
    }

    // MARK: Rows

    /// The first line of a table's rows, which `COPY` reads.
    static func copy(_ table: String, _ columns: [String]) -> String {
        "COPY \(quoted(table)) (\(columns.map(quoted).joined(separator: ", "))) FROM stdin;\n"
    }

    /// A row as a line of `COPY`.
    static func line(_ row: MovedRow, _ columns: [Column]) throws(UnstorableValue) -> [UInt8] {
        var line: [UInt8] = []
        for (place, column) in columns.enumerated() {
            if place > 0 { line.append(UInt8(ascii: "\t")) }
            line += Array(escaped(try text(row, column)).utf8)
        }
        line.append(UInt8(ascii: "\n"))
        return line
    }

    /// The text of a column; nil for NULL.
    private static func text(_ row: MovedRow, _ column: Column) throws(UnstorableValue) -> String? {
        if column.name == "_rperm" { return principals("read", row.fields["ACL"]) }
        if column.name == "_wperm" { return principals("write", row.fields["ACL"]) }
        guard let value = row.fields[column.name], !value.isNull else { return nil }
        guard !hasNUL(value) else {
            throw UnstorableValue("\(column.name.debugDescription) has NUL, which PostgreSQL takes in no text.")
        }
        switch column.type {
        case "jsonb": return value.serializedText
        case "boolean":
            if let flag = value.boolValue { return flag ? "t" : "f" }
        case "double precision":
            if let number = value.doubleValue { return number == number.rounded() ? whole(number) : "\(number)" }
        case "timestamp with time zone":
            if let text = value.stringValue ?? value["iso"]?.stringValue, let time = Timestamp(iso: text) {
                return time.iso
            }
        case "point":
            if let longitude = value["longitude"]?.doubleValue, let latitude = value["latitude"]?.doubleValue {
                return "(\(longitude),\(latitude))"
            }
        case "polygon":
            let corners = (value["coordinates"]?.arrayValue ?? []).compactMap { corner -> String? in
                let numbers = (corner.arrayValue ?? []).compactMap(\.doubleValue)
                return numbers.count == 2 ? "(\(numbers[1]),\(numbers[0]))" : nil
            }
            if !corners.isEmpty { return "(\(corners.joined(separator: ",")))" }
        default:
            if let id = value.pointerTarget?.objectId { return id }
            if value.wireType == "File" { return value["name"]?.stringValue }
            // A field of Satchel's that takes numbers and texts.
            return value.stringValue ?? value.serializedText
        }
        throw UnstorableValue("\(column.name.debugDescription) has a value that the type \(column.type) cannot hold.")
    }

    private static func whole(_ number: Double) -> String { Int64(exactly: number).map { "\($0)" } ?? "\(number)" }

    private static func hasNUL(_ value: JSON) -> Bool {
        switch value {
        case .string(let text): text.utf8.contains(0)
        case .array(let elements): elements.contains(where: hasNUL)
        case .object(let members): members.contains { $0.key.utf8.contains(0) || hasNUL($0.value) }
        default: false
        }
    }

    /// An array of texts; nil for an object that is open to all.
    private static func principals(_ right: String, _ acl: JSON?) -> String? {
        guard let entries = acl?.objectValue else { return nil }
        let granted = entries.filter { $0.value[right] == true }.keys.sorted().map { principal in
            "\"\(principal.replacing("\\", with: "\\\\").replacing("\"", with: "\\\""))\""
        }
        return "{\(granted.joined(separator: ","))}"
    }

    /// A text in the form of `COPY`.
    static func escaped(_ text: String?) -> String {
        guard let text else { return "\\N" }
        guard text.utf8.contains(where: { $0 < 0x20 || $0 == UInt8(ascii: "\\") }) else { return text }
        var escaped = ""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\\": escaped += "\\\\"
            case "\t": escaped += "\\t"
            case "\n": escaped += "\\n"
            case "\r": escaped += "\\r"
            default: escaped.unicodeScalars.append(scalar)
            }
        }
        return escaped
    }
}
