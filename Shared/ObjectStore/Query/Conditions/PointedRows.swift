import ParseProtocol

/// A class that pointers of other objects lead to, and which of its objects a caller may look at.
struct PointedClass {
    let info: ClassInfo
    let hidden: Set<String>
    let kind: CallerKind
    /// Fields one of which must name the caller, by class-level permissions; nil for no such rule.
    let userFields: [String]?
}

/// The place that a field name of a query leads to: a field of the queried object, or through pointers one of another
/// object.
struct FieldPlace {
    /// Nil when there are no objects of the class a pointer leads to: the field is always missing.
    let info: ClassInfo?
    /// The field within that class, perhaps still dotted.
    let path: FieldPath
    /// The name of its row in SQL; `o` is the queried object.
    let row: String

    var isOwn: Bool { row == "o" }
}

/// The rows of other objects that a query's dotted names reach: `brand.title` is the field `title` of the object that
/// the Pointer field `brand` names, joined by its objectId, the key of its table.
///
/// A pointed-to object that the caller may not read acts as a missing one, as in an include.
struct PointedRows {
    private struct Row {
        let name: String
        let prefix: String
        let parent: String
        let info: ClassInfo
        /// The condition that the caller may read the object; nil for every object.
        let access: String?
        /// The condition that the caller may read the object whose pointer leads here; nil for every object.
        let parentAccess: String?
        /// The id in the pointer, in a form in which an index on the Pointer field answers it.
        let pointer: String
        /// Rows without such an object cannot match, so that SQLite may begin with the pointed-to objects.
        var isRequired = false
    }

    /// Objects of other classes that one query may look into. Each costs a look-up for every row looked at.
    static let rowsMax = 8

    /// Finds a class that a pointer leads to; nil when it has no objects. Without it, dotted names reach into the
    /// stored pointer itself.
    let lookUp: ((_ className: String) throws -> PointedClass?)?
    private var rows: [Row] = []
    /// The condition that the caller may read the queried object; nil for every object.
    private let ownAccess: String?

    init(_ lookUp: ((_ className: String) throws -> PointedClass?)?, ownAccess: String? = nil) {
        self.lookUp = lookUp
        self.ownAccess = ownAccess
    }

    var isEmpty: Bool { rows.isEmpty }

    /// The joins that follow the queried table in `FROM`.
    var joins: String {
        rows.map { row in
            let table = "o\(row.info.id) \(row.name)"
            let access = row.access.map { " AND \($0)" } ?? ""
            if row.isRequired {
                // SQLite compares the column objectId as text, for which an index on an expression is of no use; with
                // the sign it is a value like any other.
                let join = " JOIN \(table) ON \(row.name).objectId=\(row.pointer)\(access)"
                return row.info.dialect == .sqlite ? join + " AND \(row.pointer)=+\(row.name).objectId" : join
            }
            // Nobody follows the pointer of an object that the caller may not read.
            let pointer = row.parentAccess.map { "CASE WHEN \($0) THEN \(row.pointer) END" } ?? row.pointer
            return " LEFT JOIN \(table) ON \(row.name).objectId=\(pointer)\(access)"
        }.joined()
    }

    /// The access rules of the objects that must be there, whose rows SQLite may look at in any order.
    var requiredAccess: [String] { rows.filter(\.isRequired).compactMap(\.access) }

    /// The indexes of the classes of those objects, by the name of the row.
    var requiredIndexes: [String: [[String]]] {
        Dictionary(rows.filter(\.isRequired).map { ($0.name, $0.info.indexes) }) { first, _ in first }
    }

    /// - Throws: `.operationForbidden` (119) when the caller may not query one of the fields or read a class on the
    ///   way, `.invalidKeyName` (105) for what is no name of a field, `.invalidQuery` (102) for an `ACL` and for too
    ///   many objects.
    mutating func place(
        of name: FieldPath, in info: ClassInfo, hidden: Set<String>
    ) throws -> FieldPlace {
        var (info, hidden, path, row, prefix) = (info, hidden, name, "o", "")
        while true {
            guard !hidden.contains(path.root) else {
                throw ParseError(
                    .operationForbidden, "This user is not allowed to query \(path.root) on class \(info.name)")
            }
            guard let lookUp, path.isDotted, case .pointer(let target) = info.fields[path.root],
                !PointedRows.membersOfPointers.contains(path.components[1])
            else { return FieldPlace(info: info, path: path, row: row) }
            let rest = path.rest
            // What follows a pointer is the name of a field of another class.
            guard Names.isIdentifier(rest.root) else {
                throw ParseError(.invalidKeyName, "Invalid key name: \(rest.root.prefix(200))")
            }
            if rest.root == "ACL" { throw ParseError(.invalidQuery, "Cannot query on ACL.") }
            prefix += "." + path.root
            guard let pointed = try lookUp(target) else { return FieldPlace(info: nil, path: rest, row: row) }
            row = try join(pointed, path.root, of: row, prefix)
            (info, hidden, path) = (pointed.info, pointed.hidden, rest)
        }
    }

    /// The members that a stored pointer has itself; no other object is needed for them.
    private static let membersOfPointers: Set<String> = ["objectId", "className"]

    private mutating func join(
        _ pointed: PointedClass, _ field: String, of parent: String, _ prefix: String
    ) throws -> String {
        if let row = rows.first(where: { $0.prefix == prefix }) { return row.name }
        guard rows.count < PointedRows.rowsMax else {
            throw ParseError(.invalidQuery, "A query may look into at most \(PointedRows.rowsMax) pointed-to objects.")
        }
        let name = "j\(rows.count + 1)"
        let pointer = try pointed.info.dialect.value(
            FieldPath(field), of: .pointer(pointed.info.name), in: "\(parent).doc")
        rows.append(
            Row(
                name: name, prefix: prefix, parent: parent, info: pointed.info,
                access: try CompiledQuery.access(pointed.kind, pointed.userFields, pointed.info, row: name),
                parentAccess: parent == "o" ? ownAccess : rows.first { $0.name == parent }?.access, pointer: pointer))
        return name
    }

    /// Says that no row can match without this object.
    mutating func require(_ name: String) {
        guard let index = rows.firstIndex(where: { $0.name == name }), !rows[index].isRequired else { return }
        rows[index].isRequired = true
        require(rows[index].parent)
    }
}

extension QuerySubject {
    /// Whether a constraint can never hold for an object that has no such field.
    static func rejectsMissing(_ name: String, _ operand: JSON) -> Bool {
        switch name {
        case "$eq": !operand.isNull
        case "$in": !(operand.arrayValue ?? [.null]).contains(.null)
        case "$exists": operand == true
        case "$lt", "$lte", "$gt", "$gte", "$regex", "$containedBy", "$within", "$geoWithin", "$geoIntersects": true
        default: false
        }
    }
}
