/// A JSON value of the Parse protocol.
///
/// Whole numbers up to 2^53 in magnitude are stored as `int`, all others as `double`, so that a value survives a round
/// trip through a JavaScript client unchanged.
public enum JSON: Sendable {
    case null
    case bool(Bool)
    case int(Int64)
    case double(Double)
    case string(String)
    case array([JSON])
    case object([String: JSON])
}

/// Texts are equal when their bytes are, as in JavaScript and SQL: "é" as one scalar and as two are different values.
extension JSON: Hashable {
    /// Whether both values are equal.
    public static func == (one: JSON, other: JSON) -> Bool {
        switch (one, other) {
        case (.null, .null): true
        case (.bool(let one), .bool(let other)): one == other
        case (.int(let one), .int(let other)): one == other
        case (.double(let one), .double(let other)): one == other
        case (.string(let one), .string(let other)): one.hasSameBytes(as: other)
        case (.array(let one), .array(let other)): one == other
        case (.object(let one), .object(let other)): one == other
        default: false
        }
    }

    /// Hashes the value.
    public func hash(into hasher: inout Hasher) {
        switch self {
        case .null: hasher.combine(0)
        case .bool(let value): hasher.combine(value)
        case .int(let value): hasher.combine(value)
        case .double(let value): hasher.combine(value)
        case .string(var text):
            text.withUTF8 { hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
            hasher.combine(0xFF as UInt8)
        case .array(let elements): hasher.combine(elements)
        case .object(let members): hasher.combine(members)
        }
    }
}

extension JSON {
    /// The text of a string; nil for any other kind of value.
    public var stringValue: String? { if case .string(let value) = self { value } else { nil } }
    /// The value of a Boolean; nil for any other kind of value.
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

    /// A whole number, from either number case; nil when it has a fraction or does not fit.
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

    /// Whether arrays and objects nest deeper than this many levels; `[]` and `{}` are one level.
    package func isNested(deeperThan levels: Int) -> Bool {
        switch self {
        case .array(let elements): levels <= 0 || elements.contains { $0.isNested(deeperThan: levels - 1) }
        case .object(let members): levels <= 0 || members.values.contains { $0.isNested(deeperThan: levels - 1) }
        default: false
        }
    }

    /// The `__type` of a typed Parse value such as a Pointer or a Date.
    public var wireType: String? { self["__type"]?.stringValue }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral,
    ExpressibleByFloatLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral
{
    /// A string.
    public init(stringLiteral value: String) { self = .string(value) }
    /// A whole number.
    public init(integerLiteral value: Int64) { self = .int(value) }
    /// A Boolean.
    public init(booleanLiteral value: Bool) { self = .bool(value) }
    /// A number, stored as `double` even when it is whole.
    public init(floatLiteral value: Double) { self = .double(value) }
    /// An array.
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    /// An object. For a repeated name the last value wins.
    public init(dictionaryLiteral elements: (String, JSON)...) {
        self = .object(Dictionary(elements, uniquingKeysWith: { _, last in last }))
    }

    /// A pointer to another object, in wire form.
    public static func pointer(_ className: String, _ objectId: String) -> JSON {
        ["__type": "Pointer", "className": .string(className), "objectId": .string(objectId)]
    }

    /// The target of a Pointer, or of an `Object`, which is a pointer with its content; nil for anything else.
    public var pointerTarget: (className: String, objectId: String)? {
        guard wireType == "Pointer" || wireType == "Object",
            let className = self["className"]?.stringValue, let objectId = self["objectId"]?.stringValue
        else { return nil }
        return (className, objectId)
    }
}
