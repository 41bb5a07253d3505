/// Keys that clients must not write, because other runtimes treat them specially (PARSE_PROTOCOL section 2). In Satchel
/// they would be plain text, but the apps that read them run in such runtimes.
extension JSON {
    /// Whether an object's member must not be written.
    public static func isProhibited(_ key: String, _ value: JSON) -> Bool {
        key == "constructor" || key == "__proto__" || (key == "_bsontype" && value == "Code")
    }

    /// The first prohibited key at any depth; nil when there is none.
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
    /// The error for a prohibited key, with Parse Server's text, which shows the rule as JSON.
    public static func prohibitedKey(_ key: String) -> ParseError {
        let value = key == "_bsontype" ? #","value":"Code""# : ""
        return ParseError(
            .invalidKeyName, "Prohibited keyword in request data: {\"key\":\"\(key)\"\(value)}.")
    }
}
