import ParseProtocol

/// Validated parameters of cloud functions.
extension JSON {
    /// A text; nil when it is missing or null.
    /// - Throws: `.validationError` (142) unless it has 1 to `bytesMax` bytes and no U+0000.
    public func textParameter(_ name: String, bytesMax: Int = 255) throws -> String? {
        guard let value = self[name], !value.isNull else { return nil }
        guard let text = value.stringValue, (1...bytesMax).contains(text.utf8.count), !text.utf8.contains(0) else {
            throw ParseError(.validationError, "\(name) must be a text of 1 to \(bytesMax) bytes.")
        }
        return text
    }

    /// A required objectId.
    /// - Throws: `.validationError` (142) when it is missing or invalid.
    public func objectIdParameter(_ name: String) throws -> String {
        guard let id = self[name]?.stringValue, Names.isObjectId(id) else {
            throw ParseError(.validationError, "\(name) must be an objectId.")
        }
        return id
    }

    /// A number; nil when it is missing or null.
    /// - Throws: `.validationError` (142) for anything else, and for a number outside the range.
    public func numberParameter(_ name: String, in range: ClosedRange<Double>) throws -> Double? {
        guard let value = self[name], !value.isNull else { return nil }
        guard let number = value.doubleValue, range.contains(number) else {
            throw ParseError(
                .validationError,
                """
                \(name) must be a number from \(JSON(number: range.lowerBound).serializedText) to \
                \(JSON(number: range.upperBound).serializedText).
                """
            )
        }
        return number
    }

    /// The document as a function result that Parse clients decode as an object of its class.
    public func parseObject(of className: String) -> JSON {
        var object = self
        object["__type"] = "Object"
        object["className"] = .string(className)
        return object
    }
}
