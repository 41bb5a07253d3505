import ParseProtocol

/// The columns of an automatic index, as field names.
package struct IndexFields: Sendable, Hashable {
    /// The fields that rows are found and sorted by, in the order of the index.
    package let keys: [String]
    /// Additional fields, so that a range of another field is decided without reading the object.
    package let filters: [String]

    package init(keys: [String], filters: [String] = []) {
        self.keys = keys
        self.filters = filters
    }

    package var all: [String] { keys + filters }
    /// The index's name in schemas: `auto_brand_name`.
    package var name: String { AutomaticIndex.prefix + all.joined(separator: "_") }
}

/// An index that the store creates automatically, or in the background at an operator's request.
///
/// In SQLite, CREATE INDEX blocks the writer until it is complete. An automatic index is therefore a separate table,
/// `a<id>`, with a row for each object. Triggers keep it current from its creation, and existing objects are added in
/// steps. In PostgreSQL it is an index `a<id>`, which the server builds concurrently with writes (`IndexBuilder`).
struct AutomaticIndex: Sendable, Hashable {
    enum State: String, Sendable {
        case building, ready, dropping
        /// It does not exist and is not created again unless an operator requests it.
        case unwanted
    }

    enum Maker: String, Sendable { case satchel, `operator` }

    let id: Int64
    let fields: IndexFields
    let maker: Maker
    let madeAt: Timestamp
    var state: State
    /// An operator removed it.
    var isUnwanted: Bool

    static let prefix = "auto_"
    /// Limit of columns; each makes every write of the class slower.
    static let fieldsMax = 5
    /// Limit per class, including indexes that operators requested.
    static let perClassMax = 16

    var name: String { fields.name }
    /// Triggers or the server keep it current.
    var isKept: Bool { state == .building || state == .ready }

    /// The form in schemas, next to `indexes`.
    var json: JSON {
        [
            "fields": .array(fields.all.map(JSON.string)), "madeAt": .string(madeAt.iso),
            "madeBy": .string(maker.rawValue), "state": .string((isUnwanted ? State.unwanted : state).rawValue),
        ]
    }

    // MARK: SQL

    var table: String { "a\(id)" }

    /// The column of the field at a position in `fields.all`.
    static func column(_ place: Int) -> String { "k\(place)" }

    /// The columns of the table, in their order.
    var columns: [String] { ["object"] + fields.all.indices.map(AutomaticIndex.column) + ["readable"] }
}

extension ClassInfo {
    /// The column or expression that indexes use for a field.
    /// - Throws: `.invalidKeyName` (105).
    func column(of field: String) throws -> String {
        if BuiltInField(rawValue: field) != nil { return field }
        return try dialect.value(FieldPath(field), of: fields[field], in: "doc")
    }

    /// The field of such a column; nil if automatic indexes cannot contain it.
    func indexableField(ofColumn column: String) -> String? {
        let start = dialect == .sqlite ? #"json_extract(doc,'$.""# : "(data#>>'{"
        let ends: Set<Character> = dialect == .sqlite ? ["\""] : [",", "}"]
        let rest = column.hasPrefix(start) ? column.dropFirst(start.count).prefix { !ends.contains($0) } : column[...]
        let name = String(rest)
        return isIndexable(name) && (try? self.column(of: name)) == column ? name : nil
    }

    /// Whether automatic indexes may contain the field: it has a simple type, and every caller may see it.
    func isIndexable(_ field: String) -> Bool {
        guard !name.hasPrefix("_"), !permissions.protectedFields.values.joined().contains(field) else { return false }
        if let column = BuiltInField(rawValue: field) { return column != .objectId }
        return switch fields[field] {
        case .string, .number, .boolean, .date, .pointer: true
        default: false
        }
    }
}
