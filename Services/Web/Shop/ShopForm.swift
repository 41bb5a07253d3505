import ParseProtocol

/// What was typed into a form, and what is wrong with it.
struct ShopForm {
    /// Texts by the names of their fields.
    var typed: [String: String] = [:]
    /// A text for people by the name of its field.
    var wrong: [String: String] = [:]
    /// What is wrong with no field.
    var problem: String?

    private static let charactersMax = 200

    init() {}

    /// - Parameter object: holds the stored values.
    init(_ names: [String], of object: JSON) {
        for name in names { typed[name] = object[name]?.stringValue ?? "" }
    }

    /// The fields of a sent form.
    init(_ names: [String], sent visit: ShopVisit, _ words: ShopWords) {
        for name in names {
            let text = visit.field(name)
            typed[name] = text
            if text.utf8.count > Self.charactersMax { wrong[name] = words("form.tooLong") }
        }
    }

    var isGood: Bool { wrong.isEmpty && problem == nil }

    /// As an earlier page kept it.
    /// - Returns: nil when none did.
    init?(kept: [String: String]) {
        guard kept[Self.mark] != nil else { return nil }
        for (key, value) in kept {
            let name = String(key.dropFirst())
            switch key.first {
            case Self.typedMark?: typed[name] = value
            case Self.wrongMark?: wrong[name] = value
            default: break
            }
        }
        problem = kept[Self.problemKey]
    }

    /// For the next page (`ShopPage.kept`). Passwords are never in a form of this type.
    var kept: [String: String] {
        var kept = [Self.mark: "1"]
        for (name, value) in typed where !value.isEmpty { kept["\(Self.typedMark)\(name)"] = value }
        for (name, value) in wrong { kept["\(Self.wrongMark)\(name)"] = value }
        kept[Self.problemKey] = problem
        return kept
    }

    private static let mark = "form"
    private static let problemKey = "problem"
    private static let typedMark: Character = "="
    private static let wrongMark: Character = "!"

    subscript(name: String) -> String { typed[name] ?? "" }

    mutating func require(_ names: [String], _ words: ShopWords) {
        for name in names where self[name].isEmpty { wrong[name] = words("form.missing") }
    }

    /// The values for the partial `field`.
    func field(
        _ name: String, _ label: String, type: String = "text", autocomplete: String = "off", isRequired: Bool = false
    ) -> [String: Any] {
        var values: [String: Any] = [
            "name": name, "label": label, "type": type, "autocomplete": autocomplete, "required": isRequired,
            // A password is typed again.
            "value": type == "password" ? "" : self[name], "isLimited": type != "password",
        ]
        if let text = wrong[name] { values["wrong"] = text }
        return values
    }

    /// The values of a page with this form.
    func values(_ fields: [[String: Any]]) -> [String: Any] {
        var values: [String: Any] = ["fields": fields]
        if let problem { values["problem"] = problem }
        return values
    }
}

extension JSON {
    /// A text to store; an empty one removes the field.
    static func textOrNothing(_ text: String) -> JSON { text.isEmpty ? ["__op": "Delete"] : .string(text) }
}
