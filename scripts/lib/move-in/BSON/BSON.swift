/// A value of BSON 1.1 (bsonspec.org), as far as a row can use it.
enum BSON: Sendable, Equatable {
    case null
    case undefined
    case bool(Bool)
    case int32(Int32)
    case int64(Int64)
    case double(Double)
    /// The decimal text of a Decimal128: `-123E-2`, `NaN`, `Infinity`.
    case decimal(String)
    /// A string, or a symbol.
    case string(String)
    /// Milliseconds since 1970.
    case date(Int64)
    /// 12 bytes as hexadecimal digits.
    case objectId(String)
    /// Binary data of any subtype.
    case binary([UInt8])
    case array([BSON])
    case document(BSONDocument)
    /// A type that Parse has no form for, by its name: "a regular expression".
    case other(String)
}

/// A document. Its names differ.
struct BSONDocument: Sendable, Equatable {
    struct Element: Sendable, Equatable {
        var name: String
        var value: BSON
    }

    var elements: [Element] = []

    subscript(name: String) -> BSON? { elements.first { $0.name == name }?.value }
}

extension BSON {
    var stringValue: String? { if case .string(let text) = self { text } else { nil } }
    var documentValue: BSONDocument? { if case .document(let document) = self { document } else { nil } }
    var arrayValue: [BSON]? { if case .array(let elements) = self { elements } else { nil } }

    /// Whether it stands for a missing value.
    var isMissing: Bool { self == .null || self == .undefined }

    /// A finite or infinite number, or NaN, and whether it is exactly the stored one; nil for other types.
    var number: (value: Double, isExact: Bool)? {
        switch self {
        case .int32(let number): return (Double(number), true)
        case .int64(let number):
            let double = Double(number)
            return (double, Int64(exactly: double) == number)
        case .double(let number): return (number, true)
        case .decimal(let text):
            guard let double = Double(text) else { return nil }
            let digits = Self.significantDigits(text)
            // A double has at least 15 decimal digits.
            let isExact = !double.isFinite || digits.count <= 15 || digits == Self.significantDigits("\(double)")
            return (double, isExact && (double != 0 || digits.isEmpty))
        default: return nil
        }
    }

    /// The digits of a decimal text without sign, exponent, and zeros before and after them.
    private static func significantDigits(_ text: String) -> [UInt8] {
        let mantissa = text.utf8.prefix { $0 | 0x20 != UInt8(ascii: "e") }
        let digits = mantissa.filter { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        let zero = UInt8(ascii: "0")
        return Array(digits.drop { $0 == zero }.reversed().drop { $0 == zero }.reversed())
    }

    /// The text of a Decimal128 in binary integer form (IEEE 754-2008, section 3.5.2).
    static func decimalText(low: UInt64, high: UInt64) -> String {
        let sign = high >> 63 == 1 ? "-" : ""
        switch high >> 58 & 0x1F {
        case 0x1E: return sign + "Infinity"
        case 0x1F: return "NaN"
        default: break
        }
        // A coefficient of more than 34 digits counts as 0. The second form of the exponent has no other.
        let isSecondForm = high >> 61 & 3 == 3
        let exponent = Int(high >> (isSecondForm ? 47 : 49) & 0x3FFF) - 6176
        let coefficient = UInt128(high & 0x1_FFFF_FFFF_FFFF) << 64 | UInt128(low)
        let isZero = isSecondForm || coefficient > Self.coefficientMax
        return "\(sign)\(isZero ? 0 : coefficient)E\(exponent)"
    }

    /// 34 nines.
    private static let coefficientMax = UInt128(10_000_000_000_000_000) * 1_000_000_000_000_000_000 - 1
}
