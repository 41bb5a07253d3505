import ParseProtocol

/// Texts that people write and others read in mails and lists.
enum PlainText {
    /// A text as a client sent it.
    /// - Parameters:
    ///   - field: what the client calls it.
    ///   - isLine: whether line breaks are refused.
    /// - Throws: `.incorrectType` (111) for anything but a string, `.validationError` (142) for a longer one and for
    ///   control characters.
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

    /// A parameter that may be missing; empty then.
    static func optional(_ value: JSON?, _ field: String, bytesMax: Int, isLine: Bool = false) throws -> String {
        guard let value, !value.isNull else { return "" }
        return try parse(value, field, bytesMax: bytesMax, isLine: isLine)
    }
}
