/// The kind of value that a dotted path enters, for writes to members of objects and elements of arrays.
package enum JSONContainer {
    /// No value, or null.
    case missing
    /// An object without `__type`.
    case object
    case array(count: Int)
    /// A value without members: a number, a text, or a typed object such as a Pointer.
    case other

    package init(_ value: JSON?) {
        switch value {
        case nil, .null: self = .missing
        case .object(let members) where members["__type"] == nil: self = .object
        case .array(let elements): self = .array(count: elements.count)
        default: self = .other
        }
    }
}

extension JSON? {
    /// Moves the members of an object out, and leaves nil: the caller changes them in place, because no second
    /// reference makes Swift copy them. A pattern match would keep one.
    package mutating func takeMembers() -> [String: JSON] {
        defer { self = nil }
        return self?.objectValue ?? [:]
    }

    /// Moves the elements of an array out, and leaves nil, as `takeMembers`.
    package mutating func takeElements() -> [JSON] {
        defer { self = nil }
        return self?.arrayValue ?? []
    }
}
