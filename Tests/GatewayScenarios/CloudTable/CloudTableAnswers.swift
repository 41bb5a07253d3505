import Foundation
import ParseProtocol

/// Compares the received answers with a row's expectations.
enum CloudTableAnswers {
    /// The expected status if the row gives none: that of the error's code, else 200.
    static func status(of answer: JSON?) -> Int {
        switch answer?["code"]?.intValue {
        case nil: 200
        case 1: 500
        case 101: 404
        default: 400
        }
    }

    /// The value with `<name>` replaced by known values, in strings and member names.
    static func filled(_ value: JSON, with known: [String: String]) -> JSON {
        switch value {
        case .string(let text): .string(filled(text, with: known))
        case .array(let elements): .array(elements.map { filled($0, with: known) })
        case .object(let members):
            .object(
                Dictionary(
                    members.map { (filled($0.key, with: known), filled($0.value, with: known)) },
                    uniquingKeysWith: { $1 }))
        default: value
        }
    }

    private static func filled(_ text: String, with known: [String: String]) -> String {
        guard text.contains("<") else { return text }
        return known.reduce(text) { text, pair in text.replacing("<\(pair.key)>", with: pair.value) }
    }

    /// The first difference from the expected value as text; nil if they match.
    static func difference(_ expected: JSON, _ actual: JSON?, at path: String = "") -> String? {
        switch (expected, actual) {
        case (.string(let text), _) where text.hasPrefix("<any"):
            return isOfKind(text, actual) ? nil : said(path, expected, actual)
        case (.array(let wanted), .array(let elements)?) where wanted.count == elements.count:
            for (index, pair) in zip(wanted, elements).enumerated() {
                if let difference = difference(pair.0, pair.1, at: "\(path)[\(index)]") { return difference }
            }
            return nil
        case (.object(let wanted), _) where wanted["<containing>"] != nil:
            let part = wanted["<containing>"]?.stringValue ?? ""
            return actual?.stringValue?.contains(part) == true ? nil : said(path, expected, actual)
        case (.object(let wanted), .object(let members)?):
            return difference(wanted, members, at: path)
        default:
            return expected == actual ? nil : said(path, expected, actual)
        }
    }

    private static func difference(
        _ wanted: [String: JSON], _ members: [String: JSON], at path: String
    ) -> String? {
        for (name, value) in wanted where name != "<others>" {
            if let difference = difference(value, members[name], at: "\(path).\(name)") { return difference }
        }
        guard wanted["<others>"] == nil else { return nil }
        // Advice of the gateway for developers, beside a text that the protocol fixes.
        let more = members.keys.filter { wanted[$0] == nil && $0 != "hint" }.sorted()
        return more.isEmpty ? nil : "\(path) has \(more.joined(separator: ", ")) as well"
    }

    private static func isOfKind(_ kind: String, _ value: JSON?) -> Bool {
        switch kind {
        case "<any id>": value?.stringValue?.wholeMatch(of: /[A-Za-z0-9]{10,}/) != nil
        case "<any date>":
            value?.stringValue?.wholeMatch(of: /\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/) != nil
        case "<any text>": value?.stringValue?.isEmpty == false
        case "<any>": value != nil
        default: false
        }
    }

    private static func said(_ path: String, _ expected: JSON, _ actual: JSON?) -> String {
        "\(path) should be \(expected.serializedText) and is \(actual?.serializedText ?? "missing")"
    }
}
