import ParseProtocol

/// Validates texts that clients write and that mails and lists show to others.
enum PlainText {
    /// A text sent by a client.
    /// - Parameters:
    ///   - field: the client's name for it.
    ///   - isLine: whether line breaks are refused.
    /// - Throws: `.incorrectType` (111) for a value that is not a string, `.validationError` (142) for a text that is
    ///   too long or contains control characters.
    static func parse(_ value: JSON, _ field: String, bytesMax: Int, isLine: Bool = false) throws -> String {
        guard let text = value.stringValue else {
            throw ParseError(.incorrectType, "\(field) must be a string.")
        }
        guard text.utf8.count <= bytesMax else {
            throw ParseError(.validationError, "\(field) is longer than \(bytesMax) bytes.")
        }
        guard !text.utf8.contains(0) else { throw ParseError(.validationError, "\(field) contains U+0000.") }
        let allowed: Set<Unicode.Scalar> = isLine ? ["\t"] : ["\t", "\n", "\r"]
        let isPlain = text.unicodeScalars.allSatisfy {
            $0.properties.generalCategory != .control || allowed.contains($0)
        }
        guard isPlain else { throw ParseError(.validationError, "\(field) contains control characters.") }
        return text
    }

    /// An optional parameter; empty when absent.
    static func optional(_ value: JSON?, _ field: String, bytesMax: Int, isLine: Bool = false) throws -> String {
        guard let value, !value.isNull else { return "" }
        return try parse(value, field, bytesMax: bytesMax, isLine: isLine)
    }
}
