/// Keys that no client may write, because other runtimes give them a meaning of their own (PARSE_PROTOCOL section 2).
/// Here they would be mere text, but the apps that read them run there.
extension JSON {
    /// Whether an object's member must not be written.
    public static func isProhibited(_ key: String, _ value: JSON) -> Bool {
        key == "constructor" || key == "__proto__" || (key == "_bsontype" && value == "Code")
    }

    /// The first prohibited key at any depth, beside whatever else; nil when there is none.
    public var prohibitedKey: String? {
        switch self {
        case .array(let elements): elements.lazy.compactMap(\.prohibitedKey).first
        case .object(let members):
            members.lazy.compactMap { JSON.isProhibited($0.key, $0.value) ? $0.key : $0.value.prohibitedKey }.first
        default: nil
        }
    }
}

extension ParseError {
    /// The refusal of a prohibited key, in the words of Parse Server, which names the rule as JSON.
    public static func prohibitedKey(_ key: String) -> ParseError {
        let value = key == "_bsontype" ? #","value":"Code""# : ""
        return ParseError(
            .invalidKeyName, "Prohibited keyword in request data: {\"key\":\"\(key)\"\(value)}.")
    }
}
