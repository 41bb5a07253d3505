import ParseProtocol

/// Relations in queries.
extension ObjectReader {
    /// The ids of a relation's members, for a query of their class at another service.
    /// - Throws: `.operationForbidden` (119) when the caller may not read the class or the field, `.invalidQuery` (102)
    ///   for more than `max` members.
    public func members(
        of className: String, _ objectId: String, _ key: String, target: String, max: Int, caller: Caller
    ) throws -> [String] {
        try reading {
            guard let classId = try relation(className, objectId, key, to: target, caller) else { return [] }
            let rows = try connection.rows(
                "SELECT target FROM relations WHERE class = ? AND key = ? AND owner = ? LIMIT ?",
                [.int(classId), .text(key), .text(objectId), .int(Int64(max) + 1)])
            guard rows.count <= max else {
                throw ParseError(
                    .invalidQuery, "The relation \(key) has more than \(max) members, too many for a remote query.")
            }
            return try rows.map { try $0.text(0) }
        }
    }

    /// The class id of a relation's owner when the caller may see the relation.
    func relation(
        _ className: String, _ objectId: String, _ key: String, to target: String, _ caller: Caller
    ) throws -> Int64? {
        guard let owner = schema.classes[className] else { return nil }
        let decision = try owner.permissions.decide(.get, caller, className: className)
        guard !owner.unqueryableFields(by: caller).contains(key) else {
            throw ParseError(.operationForbidden, "This user is not allowed to query \(key) on class \(className)")
        }
        guard owner.fields[key] == .relation(target) else { return nil }
        let statement = try singleStatement(owner, decision, caller)
        defer { statement.reset() }
        try statement.bind(objectId, at: 5)
        return try statement.step() ? owner.id : nil
    }
}
