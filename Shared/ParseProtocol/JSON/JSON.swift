/// A JSON value as the Parse protocol uses it.
///
/// Whole numbers up to 2^53 in magnitude are kept as `int`, everything else as `double`, so that a value
/// survives a round trip through a JavaScript client unchanged.
public enum JSON: Sendable, Hashable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])
}

extension JSON {
    /// The text of a string; nil for any other kind of value.
    public var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    /// The value of a boolean; nil for any other kind of value.
    public var boolValue: Bool? { if case .bool(let value) = self { value } else { nil } }
    /// The elements of an array; nil for any other kind of value.
    public var arrayValue: [JSON]? { if case .array(let value) = self { value } else { nil } }
    /// The members of an object; nil for any other kind of value.
    public var objectValue: [String: JSON]? { if case .object(let value) = self { value } else { nil } }
    /// Whether it is `null`.
    public var isNull: Bool { self == .null }

    /// A number in its canonical case: `int` for a whole number up to 2^53 in magnitude, else `double`.
    public init(number: Double) {
        if let whole = Int64(exactly: number), whole.magnitude <= 1 << 53 {
            self = .int(whole)
        } else {
            self = .double(number)
        }
    }

    /// A whole number, from either number case; nil when there is a fraction or it does not fit.
    public var intValue: Int64? {
        switch self {
        case .int(let value): value
        case .double(let value): Int64(exactly: value)
        default: nil
        }
    }

    /// The number, whole or not; nil for any other kind of value.
    public var doubleValue: Double? {
        switch self {
        case .int(let value): Double(value)
        case .double(let value): value
        default: nil
        }
    }

    /// The member of an object; nil for a missing member and for any other kind of value.
    public subscript(key: String) -> JSON? {
        get { objectValue?[key] }
        set {
            guard case .object(var members) = self else { return }
            self = .null  // Releases the stored copy, so that the change happens in place.
            members[key] = newValue
            self = .object(members)
        }
    }

    /// Whether arrays and objects nest deeper than so many levels; `[]` and `{}` are one level.
    package func isNested(deeperThan levels: Int) -> Bool {
        switch self {
        case .array(let elements): levels <= 0 || elements.contains { $0.isNested(deeperThan: levels - 1) }
        case .object(let members): levels <= 0 || members.values.contains { $0.isNested(deeperThan: levels - 1) }
        default: false
        }
    }

    /// The `__type` of a Parse wire hash such as a Pointer or a Date.
    public var wireType: String? { self["__type"]?.stringValue }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// A whole number.
    public init(integerLiteral value: Int64) { self = .int(value) }
    /// A boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// A number, kept as `double` even when it is whole.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// An array.
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    /// An object. Of a repeated name the last value counts.
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { _, last in last }))
    }

    /// A pointer to another object, in wire form.
    public static func pointer(_ className: String, _ objectId: String) -> JSON {
        ["__type": "Pointer", "className": .string(className), "objectId": .string(objectId)]
    }

    /// The target of a Pointer (or of an `Object`, which is a pointer with its content), or nil.
    public var pointerTarget: (className: String, objectId: String)? {
        guard wireType == "Pointer" || wireType == "Object",
            let className = self["className"]?.stringValue, let objectId = self["objectId"]?.stringValue
        else { return nil }
        return (className, objectId)
    }
}
