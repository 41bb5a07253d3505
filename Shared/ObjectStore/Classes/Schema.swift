import ParseProtocol

/// A class in the form in which the database stores it.
struct ClassInfo: Sendable {
    let id: Int64
    let name: String
    /// The engine that stores its objects.
    var dialect = Dialect.sqlite
    var fields: [String: FieldType]
    /// The relation fields in the form of objects' members, as of the class's last save.
    private(set) var relationMembers = RelationMembers([:])
    /// The fields in the order in which they were added. A new field that is missing here is appended, sorted by name.
    var fieldOrder: [String] = []
    /// The requirements that operators set for fields beyond their types.
    var fieldOptions: [String: FieldOptions] = [:]
    var permissions: ClassPermissions
    /// The changes that operators made through the schemas API; they take precedence over the definitions in code.
    var edits = ClassEdits()
    /// Fields with full-text search, in the order of the columns `c0`, `c1`, … of the text index.
    var textFields: [String]
    var textState = TextIndex.State.missing
    /// The columns of each index, as written in the index. The writer's list may be incomplete.
    var indexes: [[String]] = ClassInfo.keys
    /// The automatic indexes, including the unwanted ones.
    var automatic: [AutomaticIndex] = []

    /// The columns of the index that every class has.
    static let keys = [["objectId"]]

    /// Limit of fields per class, because clients' saves add fields.
    static let fieldsMax = 1000

    /// The class with its derived values, in the form that is stored and read.
    var normalized: ClassInfo {
        var info = self
        info.fieldOrder = orderedFields
        info.relationMembers = RelationMembers(fields)
        return info
    }

    /// The column of a field in the text index; nil without an index that has all objects.
    func textColumn(of field: String) -> Int? { textState == .complete ? textFields.firstIndex(of: field) : nil }

    var relationFields: [(name: String, target: String)] {
        fields.compactMap { name, type in
            if case .relation(let target) = type { (name, target) } else { nil }
        }
    }
}

/// The classes of one database at one generation. In SQLite `PRAGMA user_version` is the generation. It changes in
/// every transaction that changes a class, so readers detect the change with one cheap query.
struct Schema: Sendable {
    var generation: Int64
    var classes: [String: ClassInfo]

    /// Limit of classes that clients can add to one database.
    static let classesMax = 1000

    static let empty = Schema(generation: 0, classes: [:])

    static func load(_ connection: any StoreConnection) throws -> Schema {
        var schema = Schema(generation: try connection.generation(), classes: [:])
        let rows = try connection.rows(
            """
            SELECT id, name, fields, permissions, textFields, hasPermissions, indexes
            FROM classes LEFT JOIN classEdits ON class = id
            """)
        let indexes = try connection.indexColumns()
        let automatic = try AutomaticIndex.stored(connection)
        for row in rows {
            let fields = try JSON(parsing: row.text(2)).objectValue ?? [:]
            var info = try ClassInfo(
                id: row.int(0), name: row.text(1), fields: fields.compactMapValues(FieldType.init(json:)),
                permissions: ClassPermissions(json: try JSON(parsing: row.text(3))),
                textFields: try JSON(parsing: row.text(4)).arrayValue?.compactMap(\.stringValue) ?? [])
            info.dialect = connection.dialect
            info.fieldOptions = fields.compactMapValues(FieldOptions.init(json:))
            info.fieldOrder = ClassInfo.fieldOrder(stored: fields)
            if let indexes = try row[6].textValue {
                info.edits = ClassEdits(
                    hasPermissions: try row.int(5) != 0, storedIndexes: try JSON(parsing: indexes).objectValue ?? [:])
            }
            info.indexes += indexes["o\(info.id)"] ?? []
            info.automatic = automatic[info.id] ?? []
            info.textState = try TextIndex.state(of: info, connection)
            schema.classes[info.name] = info.normalized
        }
        return schema
    }
}
