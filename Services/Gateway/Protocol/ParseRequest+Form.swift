import HTTPTypes
import ParseProtocol

/// Bodies that are forms (application/x-www-form-urlencoded).
extension ParseRequest {
    /// Reads a body that is a form (`username=ann&password=x`). Curl says of JSON, too, that it is one: then it begins
    /// like JSON.
    ///
    /// A form has texts only, so that a password of digits stays one; what is an object or an array in JSON becomes it.
    /// - Throws: `.invalidJSON` (107) when it cannot be decoded.
    mutating func readForm() throws(ParseError) {
        // What begins like JSON needs no look at its type.
        guard tunnelled == nil, let first = body.first(where: { !Self.blanks.contains($0) }),
            !Self.jsonOpenings.contains(first), Self.isForm(headers.value(.contentType)),
            body.contains(UInt8(ascii: "="))
        else { return }
        guard let text = String(validating: body, as: UTF8.self) else {
            throw ParseError(.invalidJSON, "The body is not valid UTF-8.")
        }
        tunnelled = try Self.form(text)
        isForm = true
    }

    private static func form(_ text: String) throws(ParseError) -> [String: JSON] {
        var members: [String: JSON] = [:]
        for (name, value) in try orderedPairs(Substring(text).utf8) {
            let isJSON = !secretTexts.contains(name) && value.utf8.first.map(jsonOpenings.contains) == true
            members[name] = isJSON ? (try? JSON(parsing: value)) ?? .string(value) : .string(value)
        }
        return members
    }

    private static func isForm(_ contentType: String?) -> Bool {
        contentType?.lowercased().hasPrefix("application/x-www-form-urlencoded") ?? false
    }

    private static let blanks = Array(" \t\r\n".utf8)
    /// The first bytes of an object, an array and a text in JSON.
    private static let jsonOpenings = Array("{[\"".utf8)
    /// Fields whose texts people choose, so that they may begin with anything.
    private static let secretTexts: Set<String> = ["username", "password", "email"]
}
