import ParseProtocol

/// A class as the database knows it.
struct ClassInfo: Sendable {
    let id: Int64
    let name: String
    /// The engine that keeps its objects.
    var dialect = Dialect.sqlite
    var fields: [String: FieldType]
    /// The fields in the order in which the class got them. One that is saved with it and not named here comes last,
    /// after its name.
    var fieldOrder: [String] = []
    /// The demands that operators make of fields beyond their types.
    var fieldOptions: [String: FieldOptions] = [:]
    var permissions: ClassPermissions
    /// The changes that operators made through the schemas API; they outlive the definitions in code.
    var edits = ClassEdits()
    /// Fields with full-text search, in the order of the columns `c0`, `c1`, … of the text index.
    var textFields: [String]
    /// The columns of each index, as they are written in it. A writer may know less than there is.
    var indexes: [[String]] = ClassInfo.keys
    /// The indexes that the store makes by itself, those that are unwanted among them.
    var automatic: [AutomaticIndex] = []

    /// The columns of the index that every class has.
    static let keys = [["objectId"]]

    /// Fields a class can have; each one is learnt from a client's save.
    static let fieldsMax = 1000

    var relationFields: [(name: String, target: String)] {
        fields.compactMap { name, type in
            if case .relation(let target) = type { (name, target) } else { nil }
        }
    }
}

/// The classes of one database file at one generation. `PRAGMA user_version` is the generation: it changes in the
/// transaction that changes a class, so that readers notice with one cheap look.
struct Schema: Sendable {
    var generation: Int64
    var classes: [String: ClassInfo]

    /// Classes clients can add to one file.
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
            schema.classes[info.name] = info
        }
        return schema
    }
}
