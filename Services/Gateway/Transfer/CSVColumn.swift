import ParseProtocol

/// A column of an exported class: converts a field's values to texts and back.
struct CSVColumn {
    let name: String
    /// The type's name in the class's schema; nil for a field that the class does not have yet.
    let type: String?
    let targetClass: String?
    /// A Number column that accepts a text as well.
    private let takesText: Bool

    init(_ name: String, schema: JSON?) {
        self.name = name
        type = schema?["type"]?.stringValue
        targetClass = schema?["targetClass"]?.stringValue
        takesText = schema?["alsoText"] == true
    }

    /// The columns of a class: its id first, its times and ACL last. Relations are not part of an object.
    static func all(of schema: JSON) -> [CSVColumn] {
        let fields = schema["fields"]?.objectValue ?? [:]
        let own = fields.keys.filter { !ends.contains($0) && $0 != "objectId" && fields[$0]?["type"] != "Relation" }
        return (["objectId"] + own.sorted() + ends).map { CSVColumn($0, schema: fields[$0]) }
    }

    private static let ends = ["createdAt", "updatedAt", "ACL"]

    /// A missing field gives an empty text; so does null, which reads back as missing. Numbers need no guard against
    /// formulas.
    func text(_ value: JSON?) -> String {
        guard let value, !value.isNull else { return "" }
        switch value {
        case .string(let text): return CSVFormula.guarded(text)
        case .object where value.wireType == "Date": return value["iso"]?.stringValue ?? ""
        case .object where value.wireType == "Pointer": return CSVFormula.guarded(value["objectId"]?.stringValue ?? "")
        default: return value.serializedText
        }
    }

    /// - Returns: nil for an empty text, which leaves the field unset.
    /// - Throws: `.incorrectType` (111) when the text does not match the field's type.
    func value(_ cell: String) throws(ParseError) -> JSON? {
        let text = CSVFormula.unguarded(cell)
        guard !text.isEmpty else { return nil }
        switch type {
        case "String": return .string(text)
        case "Date":
            if ["createdAt", "updatedAt"].contains(name) { return .string(text) }
            return ["__type": "Date", "iso": .string(text)]
        case "Pointer": return .pointer(targetClass ?? "", text)
        case nil:
            // For a new field, text that parses as JSON is JSON.
            return (try? JSON(parsing: text)) ?? .string(text)
        default:
            guard let value = try? JSON(parsing: text) else {
                if takesText { return .string(text) }
                throw ParseError(.incorrectType, "\(name) must be of type \(type ?? "").")
            }
            return value
        }
    }
}
