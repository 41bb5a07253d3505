import ParseProtocol

/// The right to a change, as far as a read can decide it.
public enum ChangeRight: Sendable, Equatable {
    /// The caller may make the change.
    /// - Parameters:
    ///   - before: the stored object as JSON; nil for a create.
    ///   - everybody: whether every caller may create objects of the class with these fields.
    case granted(before: [UInt8]?, everybody: Bool)
    /// The change would add a class or a field; only the writer can decide about that.
    case undecided
}

extension ObjectReader {
    /// Decides whether a caller may make a change, without its values. Changes nothing.
    /// - Parameters:
    ///   - objectId: nil for a create.
    ///   - fields: the names of the change's members, as in the client's request.
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
            // The writer also decides about an object that cannot be decoded.
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
        let statement = try statementForWriting(info, decision, CallerKind(caller))
        defer { statement.reset() }
        try caller.bind(to: statement)
        try statement.bind(objectId, at: 5)
        guard try statement.step() else { throw ParseError.objectNotFound }
        let document = statement.bytes(1)
        return (info, statement.int(0), info.relationMembers.completing(document) ?? Array(document))
    }
}

extension ClassInfo {
    /// Whether a create with this field adds no field to the class.
    func takes(_ name: String) -> Bool {
        name == "ACL" || (fields[name] != nil && BuiltInField(rawValue: name) == nil)
    }

    /// Whether an update of this field, or of a member of it, adds no field to the class.
    fileprivate func knows(_ name: String) -> Bool {
        let root = name.utf8.contains(UInt8(ascii: ".")) ? String(name.prefix { $0 != "." }) : name
        return root == "ACL" || fields[root] != nil || BuiltInField(rawValue: root) != nil
    }
}
