import ParseProtocol

/// The columns of an automatic index, by the names of their fields.
package struct IndexFields: Sendable, Hashable {
    /// The fields that rows are found and sorted by, in the order of the index.
    package let keys: [String]
    /// Fields that lie beside them, so that a range of another field is decided without the object.
    package let filters: [String]

    package init(keys: [String], filters: [String] = []) {
        self.keys = keys
        self.filters = filters
    }

    package var all: [String] { keys + filters }
    /// The index's name in schemas: `auto_brand_name`.
    package var name: String { AutomaticIndex.prefix + all.joined(separator: "_") }
}

/// An index that the store made by itself, or in the background because an operator wished it.
///
/// SQLite holds the writer for as long as it makes an index. This one is a table of its own, `a<id>`, with a row for
/// each object: triggers keep it current from its first moment, and the objects that were there before are added in
/// steps. In PostgreSQL it is an index `a<id>`, which the server makes beside the writes (`IndexBuilder`).
struct AutomaticIndex: Sendable, Hashable {
    enum State: String, Sendable {
        case building, ready, dropping
        /// It is not there and is not made again unless an operator wishes it.
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
    /// Columns at most; each makes every write of the class dearer.
    static let fieldsMax = 5
    /// Those of one class, operators' wishes among them.
    static let perClassMax = 16

    var name: String { fields.name }
    /// Triggers follow the class's objects.
    var isKept: Bool { state == .building || state == .ready }

    /// As schemas show it beside `indexes`.
    var json: JSON {
        [
            "fields": .array(fields.all.map(JSON.string)), "madeAt": .string(madeAt.iso),
            "madeBy": .string(maker.rawValue), "state": .string((isUnwanted ? State.unwanted : state).rawValue),
        ]
    }

    // MARK: SQL

    var table: String { "a\(id)" }

    /// The column of the field at a place in `fields.all`.
    static func column(_ place: Int) -> String { "k\(place)" }

    /// The columns of the table, in their order.
    var columns: [String] { ["object"] + fields.all.indices.map(AutomaticIndex.column) + ["readable"] }
}

extension ClassInfo {
    /// The column or expression that indexes of a field are made of.
    /// - Throws: `.invalidKeyName` (105).
    func column(of field: String) throws -> String {
        if BuiltInField(rawValue: field) != nil { return field }
        return try dialect.value(FieldPath(field), of: fields[field], in: "doc")
    }

    /// The field of such a column; nil for what no automatic index is made of.
    func indexableField(ofColumn column: String) -> String? {
        let start = dialect == .sqlite ? #"json_extract(doc,'$.""# : "(data#>>'{"
        let ends: Set<Character> = dialect == .sqlite ? ["\""] : [",", "}"]
        let rest = column.hasPrefix(start) ? column.dropFirst(start.count).prefix { !ends.contains($0) } : column[...]
        let name = String(rest)
        return isIndexable(name) && (try? self.column(of: name)) == column ? name : nil
    }

    /// Whether automatic indexes may have the field: one of a simple type that every caller may see.
    func isIndexable(_ field: String) -> Bool {
        guard !name.hasPrefix("_"), !permissions.protectedFields.values.joined().contains(field) else { return false }
        if let column = BuiltInField(rawValue: field) { return column != .objectId }
        return switch fields[field] {
        case .string, .number, .boolean, .date, .pointer: true
        default: false
        }
    }
}
