import ParseProtocol

/// The difference between two states, small enough to be kept: members that are the same are left out, secrets are
/// named but not told, and long values are cut.
package struct AuditDifference: Sendable, Equatable {
    /// Nil when there was nothing.
    package let before: JSON?
    /// Nil when there is nothing.
    package let after: JSON?

    /// Bytes of one value; of a longer text so many characters are kept.
    static let valueBytesMax = 2000
    private static let textKept = 500
    /// Bytes of a state; one that is larger is only a list of names.
    static let stateBytesMax = 16 << 10
    private static let namesMax = 100
    /// Objects within objects that are compared member by member: a schema's fields, a Config's parameters.
    private static let depthMax = 2

    /// Times say nothing that the entry does not.
    private static let ignored: Set<String> = ["objectId", "createdAt", "updatedAt"]
    private static let secrets: Set<String> = ["password", "sessionToken", "authData", "deviceToken"]
    private static let mask: JSON = "(hidden)"

    /// - Parameter hidden: members whose values are not told, whatever the depth.
    package init(_ before: JSON?, _ after: JSON?, hiding hidden: Set<String> = []) {
        let (old, new) = Self.members(
            before?.objectValue ?? [:], after?.objectValue ?? [:], Self.secrets.union(hidden), depth: 0)
        self.before = before == nil ? nil : Self.bounded(old)
        self.after = after == nil ? nil : Self.bounded(new)
    }

    /// Whether both states are the same.
    var isEmpty: Bool { (before?.objectValue ?? [:]).isEmpty && (after?.objectValue ?? [:]).isEmpty }

    private static func members(
        _ old: [String: JSON], _ new: [String: JSON], _ hidden: Set<String>, depth: Int
    ) -> (old: [String: JSON], new: [String: JSON]) {
        var (before, after): ([String: JSON], [String: JSON]) = ([:], [:])
        for name in Set(old.keys).union(new.keys) where old[name] != new[name] && !ignored.contains(name) {
            if hidden.contains(name) {
                before[name] = old[name].map { _ in mask }
                after[name] = new[name].map { _ in mask }
            } else if depth < depthMax, let inner = plain(old[name]), let other = plain(new[name]) {
                let part = members(inner, other, hidden, depth: depth + 1)
                before[name] = .object(part.old)
                after[name] = .object(part.new)
            } else {
                before[name] = old[name].map { cut($0, hidden) }
                after[name] = new[name].map { cut($0, hidden) }
            }
        }
        return (before, after)
    }

    /// The members of an object that is a value of its own type: no pointer, date, file or operation.
    private static func plain(_ value: JSON?) -> [String: JSON]? {
        guard let members = value?.objectValue, members["__type"] == nil, members["__op"] == nil else { return nil }
        return members
    }

    private static func cut(_ value: JSON, _ hidden: Set<String>) -> JSON {
        if let text = value.stringValue {
            return text.utf8.count > valueBytesMax ? .string("\(text.prefix(textKept))…") : value
        }
        let value = masked(value, hidden)
        let size = value.serialized.count
        return size > valueBytesMax ? .string("(\(size) bytes)") : value
    }

    private static func masked(_ value: JSON, _ hidden: Set<String>) -> JSON {
        switch value {
        case .object(let members):
            .object(
                Dictionary(
                    uniqueKeysWithValues: members.map { name, value in
                        (name, hidden.contains(name) ? mask : masked(value, hidden))
                    }))
        case .array(let values): .array(values.map { masked($0, hidden) })
        default: value
        }
    }

    private static func bounded(_ members: [String: JSON]) -> JSON {
        let state = JSON.object(members)
        guard state.serialized.count > stateBytesMax else { return state }
        let names = members.keys.sorted().prefix(namesMax).map { JSON.string(String($0.prefix(100))) }
        return ["(changed)": .array(names)]
    }
}
