import ParseProtocol

/// A class that pointers of other objects lead to, with the caller's rights to its objects.
struct PointedClass {
    let info: ClassInfo
    let hidden: Set<String>
    let kind: CallerKind
    /// Fields one of which must name the caller, by class-level permissions; nil for no such rule.
    let userFields: [String]?
}

/// The field that a field name of a query leads to: of the queried object, or through pointers of another object.
struct FieldPlace {
    /// Nil when the pointer leads to a class without objects: the field is then always missing.
    let info: ClassInfo?
    /// The field within that class, perhaps still dotted.
    let path: FieldPath
    /// The name of its row in SQL; `o` is the queried object.
    let row: String

    var isOwn: Bool { row == "o" }

    /// Whether the path leads into an Object or an element of an Array, whose members may have any names.
    var leadsIntoObject: Bool {
        switch info?.fields[path.root] {
        case .object: true
        case .array: path.beginsWithIndex
        default: info == nil
        }
    }
}

/// The rows of other objects that a query's dotted names read: `brand.title` is the field `title` of the object that
/// the Pointer field `brand` names, joined by its objectId, the key of its table.
///
/// A pointed-to object that the caller may not read counts as missing, as in an include.
struct PointedRows {
    private struct Row {
        let name: String
        let prefix: String
        let parent: String
        let info: ClassInfo
        /// The condition that the caller may read the object; nil for every object.
        let access: String?
        /// The condition that the caller may read the object with the pointer; nil for every object.
        let parentAccess: String?
        /// The id in the pointer, in a form that an index on the Pointer field answers.
        let pointer: String
        /// Rows without such an object cannot match, so SQLite may start with the pointed-to objects.
        var isRequired = false
    }

    /// Limit of pointed-to objects in one query. Each costs a look-up for every row read.
    static let rowsMax = 8

    /// Finds a class that a pointer leads to; nil when it has no objects. Without this closure, dotted names read the
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

    /// The joins after the queried table in `FROM`.
    var joins: String {
        rows.map { row in
            let table = "o\(row.info.id) \(row.name)"
            let access = row.access.map { " AND \($0)" } ?? ""
            if row.isRequired {
                // SQLite compares the column objectId as text, so it does not use an index on an expression for it. The
                // unary plus removes the column's affinity.
                let join = " JOIN \(table) ON \(row.name).objectId=\(row.pointer)\(access)"
                return row.info.dialect == .sqlite ? join + " AND \(row.pointer)=+\(row.name).objectId" : join
            }
            // The pointer of an object that the caller may not read is not followed.
            let pointer = row.parentAccess.map { "CASE WHEN \($0) THEN \(row.pointer) END" } ?? row.pointer
            return " LEFT JOIN \(table) ON \(row.name).objectId=\(pointer)\(access)"
        }.joined()
    }

    /// The access rules of the required objects, whose rows SQLite may read in any order.
    var requiredAccess: [String] { rows.filter(\.isRequired).compactMap(\.access) }

    /// The indexes of the classes of those objects, by the name of the row.
    var requiredIndexes: [String: [[String]]] {
        Dictionary(rows.filter(\.isRequired).map { ($0.name, $0.info.indexes) }) { first, _ in first }
    }

    /// - Throws: `.operationForbidden` (119) when the caller may not query one of the fields or read a class along the
    ///   path, `.invalidKeyName` (105) for an invalid field name, `.invalidQuery` (102) for an `ACL` and for too many
    ///   objects.
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
            // The component after a pointer is a field name of another class.
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

    /// The members of a stored pointer itself; they need no other object.
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

    /// Marks the object as required: no row can match without it.
    mutating func require(_ name: String) {
        guard let index = rows.firstIndex(where: { $0.name == name }), !rows[index].isRequired else { return }
        rows[index].isRequired = true
        require(rows[index].parent)
    }
}

extension QuerySubject {
    /// Whether a constraint can never hold for an object that lacks the field.
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
