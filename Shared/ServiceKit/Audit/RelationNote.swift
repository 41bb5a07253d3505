import ParseProtocol

/// The change of a relation as the audit log has it. Of many objects it is their ids alone, in parts that are kept
/// whole: whoever is put into a role is not lost because others are with him.
package enum RelationNote {
    /// Ids of a part; so many of the longest are less than a value may have.
    private static let idsMax = 25

    /// - Parameters:
    ///   - operation: what a client said of the field.
    ///   - isHidden: whether values of the field are not told.
    /// - Returns: members for the state after the change; none for what changes no relation.
    package static func members(of name: String, _ operation: JSON, isHidden: Bool) -> [String: JSON] {
        guard let verb = operation["__op"]?.stringValue, ["AddRelation", "RemoveRelation", "Batch"].contains(verb)
        else { return [:] }
        guard !isHidden, operation.serialized.count > AuditDifference.valueBytesMax else { return [name: operation] }
        var members: [String: JSON] = [:]
        for single in verb == "Batch" ? operation["ops"]?.arrayValue ?? [] : [operation] {
            let ids = (single["objects"]?.arrayValue ?? []).compactMap { $0.pointerTarget?.objectId }
            for start in stride(from: 0, to: ids.count, by: idsMax) {
                let part = ids[start..<min(start + idsMax, ids.count)]
                // No field has a space in its name.
                let label = "\(name) \(single["__op"]?.stringValue ?? "") \(members.count + 1)"
                members[label] = .string(part.joined(separator: " "))
            }
        }
        return members.isEmpty ? [name: operation] : members
    }
}
