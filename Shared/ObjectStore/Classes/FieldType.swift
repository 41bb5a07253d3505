import ParseProtocol

/// The type of a field of a class. The first saved value sets it; later values must match.
public enum FieldType: Sendable, Hashable {
    case string, number, boolean, date, object, array, geoPoint, file, bytes, polygon
    /// A Number that also accepts a String, for a field that two generations of apps write. Schemas show a Number with
    /// the member `alsoText`.
    case numberOrText
    case pointer(String)
    case relation(String)
}

extension FieldType {
    /// The name in the schema format of the protocol (PARSE_PROTOCOL section 7).
    var name: String {
        switch self {
        case .string: "String"
        case .number, .numberOrText: "Number"
        case .boolean: "Boolean"
        case .date: "Date"
        case .object: "Object"
        case .array: "Array"
        case .geoPoint: "GeoPoint"
        case .file: "File"
        case .bytes: "Bytes"
        case .polygon: "Polygon"
        case .pointer: "Pointer"
        case .relation: "Relation"
        }
    }

    var targetClass: String? {
        switch self {
        case .pointer(let name), .relation(let name): name
        default: nil
        }
    }

    /// Whether a field of this type takes a value of `other`.
    func accepts(_ other: FieldType) -> Bool {
        self == other || self == .numberOrText && (other == .number || other == .string)
    }

    private static let alsoText = "alsoText"

    /// The form in error messages: `Pointer<Category>`.
    var label: String { targetClass.map { "\(name)<\($0)>" } ?? name }

    /// The type of a value in a client's request; nil for null and for values that are not part of the protocol.
    public static func sent(_ value: JSON) -> FieldType? {
        (try? WireValue.normalized(value)).flatMap { FieldType(of: $0) }
    }

    /// The schema format: `{"type":"Pointer","targetClass":"Category"}`.
    var json: JSON {
        var members: [String: JSON] = ["type": .string(name)]
        members["targetClass"] = targetClass.map(JSON.string)
        if self == .numberOrText { members[Self.alsoText] = true }
        return .object(members)
    }

    init?(json: JSON) {
        let target = json["targetClass"]?.stringValue
        switch json["type"]?.stringValue {
        case "Pointer":
            guard let target else { return nil }
            self = .pointer(target)
        case "Relation":
            guard let target else { return nil }
            self = .relation(target)
        case "Number" where json[Self.alsoText] == true: self = .numberOrText
        case let name:
            guard let type = FieldType.simple.first(where: { $0.name == name }) else { return nil }
            self = type
        }
    }

    private static let simple: [FieldType] = [
        .string, .number, .boolean, .date, .object, .array, .geoPoint, .file, .bytes, .polygon,
    ]

    /// The type of a validated wire value; nil for null, which fits every field.
    init?(of value: JSON) {
        switch value {
        case .null: return nil
        case .bool: self = .boolean
        case .int, .double: self = .number
        case .string: self = .string
        case .array: self = .array
        case .object:
            switch value.wireType {
            case "Date": self = .date
            case "Bytes": self = .bytes
            case "File": self = .file
            case "GeoPoint": self = .geoPoint
            case "Polygon": self = .polygon
            case "Pointer", "Object": self = .pointer(value["className"]?.stringValue ?? "")
            case "Relation": self = .relation(value["className"]?.stringValue ?? "")
            default: self = .object
            }
        }
    }
}

extension ParseError {
    /// `.incorrectType` (111) for a value of another type than the field's.
    public static func schemaMismatch(
        _ className: String, _ field: String, expected: FieldType, got: FieldType
    ) -> ParseError {
        ParseError(
            .incorrectType, "schema mismatch for \(className).\(field); expected \(expected.label) but got \(got.label)"
        )
    }
}
