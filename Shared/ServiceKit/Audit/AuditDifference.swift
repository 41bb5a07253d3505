import ParseProtocol

/// The difference between two states, small enough to store: equal members are left out, values of secrets are masked,
/// and long values are cut.
package struct AuditDifference: Sendable, Equatable {
    /// The state before the change; nil if the object did not exist.
    package let before: JSON?
    /// The state after the change; nil if the object no longer exists.
    package let after: JSON?

    /// Limit of one value in bytes. A longer text is cut to `textKept` characters.
    static let valueBytesMax = 2000
    private static let textKept = 500
    /// Limit of a state in bytes. A larger one is reduced to a list of member names.
    static let stateBytesMax = 16 << 10
    private static let namesMax = 100
    /// Depth to which nested objects are compared member by member, such as a schema's fields or a Config's parameters.
    private static let depthMax = 2

    /// Left out: the audit entry already has the id and the time.
    private static let ignored: Set<String> = ["objectId", "createdAt", "updatedAt"]
    private static let secrets: Set<String> = ["password", "sessionToken", "authData", "deviceToken"]
    private static let mask: JSON = "(hidden)"

    /// - Parameter hidden: members whose values are masked at any depth.
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

    /// The members of a plain object value: not a pointer, date, file or operation.
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
