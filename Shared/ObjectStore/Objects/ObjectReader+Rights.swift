import ParseProtocol

/// The right to a change, as far as reading alone decides about it.
public enum ChangeRight: Sendable, Equatable {
    /// The caller may make the change.
    /// - Parameters:
    ///   - before: the stored object as JSON; nil of a create.
    ///   - everybody: whether every caller may create objects of the class with these fields.
    case granted(before: [UInt8]?, everybody: Bool)
    /// The change would add a class or a field, of which only the writer can say whether the caller may.
    case undecided
}

extension ObjectReader {
    /// Decides whether a caller may make a change, without its values. Nothing is changed.
    /// - Parameters:
    ///   - objectId: nil for a create.
    ///   - fields: the names of the change's members, as the client wrote them.
    /// - Throws: `.operationForbidden` (119) and `.objectNotFound` (101) as the change itself would.
    public func right(
        to action: ClassPermissions.Action, _ className: String, _ objectId: String?, fields: some Sequence<String>,
        caller: Caller
    ) throws -> ChangeRight {
        try reading {
            guard let objectId else {
                guard let info = schema.classes[className], fields.allSatisfy(info.takes) else { return .undecided }
                _ = try info.permissions.decide(.create, caller, className: className)
                let everybody = info.permissions[.create].principals["*"] == true
                return .granted(before: nil, everybody: everybody)
            }
            let (info, _, text) = try textForWriting(action, className, objectId, caller)
            // One that cannot be decoded any more is the writer's affair, too.
            guard fields.allSatisfy(info.knows), (try? JSON(parsing: text))?.objectValue != nil else {
                return .undecided
            }
            return .granted(before: text, everybody: false)
        }
    }

    /// The stored text of an object that the caller may change.
    func textForWriting(
        _ action: ClassPermissions.Action, _ className: String, _ objectId: String, _ caller: Caller
    ) throws -> (ClassInfo, row: Int64, text: [UInt8]) {
        guard let info = schema.classes[className] else { throw ParseError.objectNotFound }
        let decision = try info.permissions.decide(action, caller, className: className)
        var sql = "SELECT o.id, o.doc FROM o\(info.id) o WHERE o.objectId=?5"
        if let writable = CallerKind(caller).condition(.write, of: info) { sql += " AND \(writable)" }
        if case .whereUserIs(let fields) = decision { sql += " AND \(try CompiledQuery.userIs(in: fields, info))" }
        let statement = try connection.statement(sql)
        defer { statement.reset() }
        try caller.bind(to: statement)
        try statement.bind(objectId, at: 5)
        guard try statement.step() else { throw ParseError.objectNotFound }
        return (info, statement.int(0), Array(statement.bytes(1)))
    }
}

extension ClassInfo {
    /// Whether a create that names the field adds none to the class.
    func takes(_ name: String) -> Bool {
        name == "ACL" || (fields[name] != nil && BuiltInField(rawValue: name) == nil)
    }

    /// Whether an update that names the field, or a member of it, adds none to the class.
    fileprivate func knows(_ name: String) -> Bool {
        let root = name.utf8.contains(UInt8(ascii: ".")) ? String(name.prefix { $0 != "." }) : name
        return root == "ACL" || fields[root] != nil || BuiltInField(rawValue: root) != nil
    }
}
