import ParseProtocol

/// The type a field of a class has. It is learnt from the first value that is saved and enforced from then on.
public enum FieldType: Sendable, Hashable {
    case string, number, boolean, date, object, array, geoPoint, file, bytes, polygon
    case pointer(String)
    case relation(String)
}

extension FieldType {
    /// The name in the schema format of the protocol (PARSE_PROTOCOL section 7).
    var name: String {
        switch self {
        case .string: "String"
        case .number: "Number"
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

    /// As error messages name it: `Pointer<Category>`.
    var label: String { targetClass.map { "\(name)<\($0)>" } ?? name }

    /// The type of a value as a client sent it; nil for null and for what is no value of the protocol.
    public static func sent(_ value: JSON) -> FieldType? {
        (try? WireValue.normalized(value)).flatMap { FieldType(of: $0) }
    }

    /// The schema format: `{"type":"Pointer","targetClass":"Category"}`.
    var json: JSON {
        var members: [String: JSON] = ["type": .string(name)]
        members["targetClass"] = targetClass.map(JSON.string)
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
