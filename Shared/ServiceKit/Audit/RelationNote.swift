import ParseProtocol

/// The change of a relation in the audit log. A large change is listed by object id in several members, so that no id
/// is cut off and every user added to a role is recorded.
package enum RelationNote {
    /// Ids per member: that many ids of the longest kind fit into `AuditDifference.valueBytesMax`.
    private static let idsMax = 25

    /// - Parameters:
    ///   - operation: the client's operation on the field.
    ///   - isHidden: whether the field's values are masked.
    /// - Returns: members for the state after the change; empty if the operation changes no relation.
    package static func members(of name: String, _ operation: JSON, isHidden: Bool) -> [String: JSON] {
        guard let verb = operation["__op"]?.stringValue, ["AddRelation", "RemoveRelation", "Batch"].contains(verb)
        else { return [:] }
        guard !isHidden, operation.serialized.count > AuditDifference.valueBytesMax else { return [name: operation] }
        var members: [String: JSON] = [:]
        for single in verb == "Batch" ? operation["ops"]?.arrayValue ?? [] : [operation] {
            let ids = (single["objects"]?.arrayValue ?? []).compactMap { $0.pointerTarget?.objectId }
            for start in stride(from: 0, to: ids.count, by: idsMax) {
                let part = ids[start..<min(start + idsMax, ids.count)]
                // The space cannot collide with a field, because field names have none.
                let label = "\(name) \(single["__op"]?.stringValue ?? "") \(members.count + 1)"
                members[label] = .string(part.joined(separator: " "))
            }
        }
        return members.isEmpty ? [name: operation] : members
    }
}
