import HTTPTypes
import ParseProtocol

/// Bodies that are forms (application/x-www-form-urlencoded).
extension ParseRequest {
    /// Reads a form body (`username=ann&password=x`). Curl also labels JSON as a form; such a body begins like JSON.
    ///
    /// A form has only texts: a password of digits remains a text. Objects and arrays in JSON are decoded.
    /// - Throws: `.invalidJSON` (107) when it cannot be decoded.
    mutating func readForm() throws(ParseError) {
        // A body that begins like JSON needs no check of its type.
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

    /// The fields of a page's form, as texts.
    /// - Throws: `.invalidJSON` (107) for another body, and for a longer one.
    func pageForm(bytesMax: Int) throws(ParseError) -> [String: String] {
        guard Self.isForm(headers[.contentType]) else {
            throw ParseError(.invalidJSON, "The body must be a form (application/x-www-form-urlencoded).")
        }
        guard body.count <= bytesMax else {
            throw ParseError(.invalidJSON, "The form must not be larger than \(bytesMax) bytes.")
        }
        return try Self.pairs(Substring(decoding: body, as: UTF8.self).utf8)
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
    /// Fields with texts of the user's choice, which may begin with any character.
    private static let secretTexts: Set<String> = ["username", "password", "email"]
}
