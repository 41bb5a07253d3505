import Foundation
import ParseProtocol

/// Interprets a query option's value in the form of each SDK: iOS sends numbers as texts, Android every option as text,
/// Flutter null and empty texts. Parse Server reads them with JavaScript's `Number()` and truthiness.
package enum OptionValue {
    /// Null and an empty text count as a missing option.
    package static func isAbsent(_ value: JSON) -> Bool { value.isNull || value == "" }

    /// A whole number, as a number or as text.
    package static func wholeNumber(_ value: JSON) -> Int64? {
        guard case .string(let text) = value else { return value.intValue }
        return (try? JSON(parsing: text))?.intValue
    }

    /// Whether a flag is set: by any value except false, zero, null and an empty text.
    package static func isSet(_ value: JSON) -> Bool {
        switch value {
        case .null: false
        case .bool(let flag): flag
        case .int(let number): number != 0
        case .double(let number): number != 0
        case .string(let text): !text.isEmpty
        case .array, .object: true
        }
    }

    /// The number of `limit`.
    /// - Throws: code 117 (the protocol's InvalidLimit).
    package static func limit(_ value: JSON) throws(ParseError) -> Int64 {
        guard let limit = wholeNumber(value), limit >= 0 else {
            throw ParseError(.init(rawValue: 117), "limit must be a whole number, 0 or greater.")
        }
        return limit
    }

    /// The number of `skip`.
    /// - Throws: code 118 (the protocol's InvalidSkip).
    package static func skip(_ value: JSON, max: Int) throws(ParseError) -> Int64 {
        guard let skip = wholeNumber(value), (0...Int64(max)).contains(skip) else {
            throw ParseError(.init(rawValue: 118), "skip must be a whole number from 0 to \(max).")
        }
        return skip
    }

    /// A text without its JSON quotes, if it has any, as in a query string whose values are JSON.
    package static func unquoted(_ text: String) -> String {
        guard text.utf8.first == UInt8(ascii: "\""), case .string(let quoted)? = try? JSON(parsing: text) else {
            return text
        }
        return quoted
    }

    /// The JSON text of a condition, which may come as an object, as its text, or as that text in JSON quotes; nil when
    /// there is none.
    /// - Throws: `.invalidQuery` (102) for any other value, and for more patterns than a query may have.
    package static func condition(_ value: JSON) throws(ParseError) -> [UInt8]? {
        switch value {
        case .null, "", "null": return nil
        case .object:
            try checkPatterns(of: value)
            return value.serialized
        case .string(let text):
            let condition = Array(unquoted(text).utf8)
            if condition.count > patternedBytesMin, condition.contains(text: "$regex"),
                let value = try? JSON(parsing: condition)
            {
                try checkPatterns(of: value)
            }
            return condition
        default: throw ParseError(.invalidQuery, "where must be an object.")
        }
    }

    /// A shorter condition cannot contain too many patterns, so it is not parsed here: each takes 13 bytes or more, as
    /// in `{"$regex":""}`.
    private static let patternedBytesMin = PatternBudget.countMax * 13

    private static func checkPatterns(of condition: JSON) throws(ParseError) {
        var patterns = PatternBudget()
        try patterns.take(allOf: condition)
    }
}
