import Foundation
import ParseProtocol

/// The operators of expressions.
enum ExpressionOperator: String {
    case add, subtract, multiply, divide, mod, abs, ceil, floor, round
    case sum, avg, min, max
    case year, month, dayOfMonth, hour, minute, second, millisecond, dayOfWeek, dayOfYear
    case concat, toLower, toUpper, substr, substrBytes
    case eq, ne, gt, gte, lt, lte, cmp
    case and, or, not, cond, ifNull
    case size, arrayElemAt
    case isIn = "in"

    var isDatePart: Bool { DatePart(rawValue: rawValue) != nil }

    var operandCount: ClosedRange<Int> {
        switch self {
        case .subtract, .divide, .mod, .eq, .ne, .gt, .gte, .lt, .lte, .cmp, .arrayElemAt, .isIn: 2...2
        case .cond, .substr, .substrBytes: 3...3
        case .add, .multiply, .concat, .and, .or, .sum, .avg, .min, .max: 0...100
        case .ifNull: 2...100
        case .round: 1...2
        default: 1...1
        }
    }

    /// - Throws: `.invalidQuery` (102) for an operand of the wrong type.
    func value(of operands: [AggregateExpression], in document: JSON) throws -> JSON? {
        switch self {
        // These do not evaluate all of their operands.
        case .cond:
            return try operands[Self.isTrue(operands[0].value(in: document)) ? 1 : 2].value(in: document)
        case .ifNull:
            for operand in operands.dropLast() {
                if let value = try operand.value(in: document), !value.isNull { return value }
            }
            return try operands.last?.value(in: document)
        case .and: return .bool(try operands.allSatisfy { Self.isTrue(try $0.value(in: document)) })
        case .or: return .bool(try operands.contains { Self.isTrue(try $0.value(in: document)) })
        default: return try value(of: operands.map { try $0.value(in: document) })
        }
    }

    private func value(of values: [JSON?]) throws -> JSON? {
        switch self {
        case .eq: return .bool(ValueOrder.compare(values[0], values[1]) == 0)
        case .ne: return .bool(ValueOrder.compare(values[0], values[1]) != 0)
        case .gt: return .bool(ValueOrder.compare(values[0], values[1]) > 0)
        case .gte: return .bool(ValueOrder.compare(values[0], values[1]) >= 0)
        case .lt: return .bool(ValueOrder.compare(values[0], values[1]) < 0)
        case .lte: return .bool(ValueOrder.compare(values[0], values[1]) <= 0)
        case .cmp: return .int(Int64(ValueOrder.compare(values[0], values[1]).signum()))
        case .not: return .bool(!Self.isTrue(values[0]))
        case .sum, .avg, .min, .max: return try accumulated(values)
        case .toLower, .toUpper: return .string(try changedCase(values[0]))
        case .substr, .substrBytes: return .string(try part(of: values))
        case .size:
            guard case .array(let elements) = values[0] else { throw wrongType("an array") }
            return .int(Int64(elements.count))
        case .isIn:
            guard case .array(let elements) = values[1] else { throw wrongType("an array") }
            return .bool(elements.contains { ValueOrder.compare($0, values[0]) == 0 })
        default: break
        }
        // All others return null when an operand is null or missing.
        let known = values.compactMap { $0?.isNull == false ? $0 : nil }
        guard known.count == values.count else { return .null }
        if let part = DatePart(rawValue: rawValue) {
            guard let time = known[0].timestamp else { throw wrongType("a Date") }
            return .int(part.value(of: time))
        }
        switch self {
        case .concat:
            return .string(
                try known.map { value in
                    guard case .string(let text) = value else { throw wrongType("texts") }
                    return text
                }.joined())
        case .arrayElemAt:
            guard case .array(let elements) = known[0], let index = known[1].intValue else {
                throw wrongType("an array and an index")
            }
            // A negative index counts from the end.
            let (position, isOver) = index < 0 ? index.addingReportingOverflow(Int64(elements.count)) : (index, false)
            guard !isOver, position >= 0, position < Int64(elements.count) else { return nil }
            return elements[Int(position)]
        default: return try calculated(known)
        }
    }

    /// Bytes of a text from an index; a negative count takes the rest. The result for a missing text is empty, as in
    /// MongoDB.
    private func part(of values: [JSON?]) throws -> String {
        guard let start = values[1]?.intValue, let count = values[2]?.intValue else {
            throw wrongType("a text and two whole numbers")
        }
        let bytes: String.UTF8View
        switch values[0] {
        case nil, .null?: return ""
        case .string(let text)?: bytes = text.utf8
        case let number? where number.doubleValue != nil: bytes = number.serializedText.utf8
        default: throw wrongType("a text and two whole numbers")
        }
        guard start >= 0, start < bytes.count else { return "" }
        let rest = bytes.dropFirst(Int(start))
        guard let text = String(count < 0 ? rest : rest.prefix(Int(Swift.min(count, Int64(rest.count))))) else {
            throw ParseError(.invalidQuery, "$\(rawValue) must not split a character.")
        }
        return text
    }

    // MARK: Numbers and dates

    private func calculated(_ values: [JSON]) throws -> JSON {
        if self == .add || self == .subtract, let date = try shiftedDate(values) { return date }
        let numbers = try values.map { value in
            guard let number = value.doubleValue else { throw wrongType("numbers") }
            return number
        }
        let result: Double
        switch self {
        case .add: result = numbers.reduce(into: ExactSum()) { $0.add($1) }.value
        case .multiply: result = numbers.reduce(1, *)
        case .subtract: result = numbers[0] - numbers[1]
        case .divide, .mod:
            guard numbers[1] != 0 else { throw ParseError(.invalidQuery, "$\(rawValue) by zero is not possible.") }
            result = self == .divide ? numbers[0] / numbers[1] : fmod(numbers[0], numbers[1])
        case .abs: result = Swift.abs(numbers[0])
        case .ceil: result = numbers[0].rounded(.up)
        case .floor: result = numbers[0].rounded(.down)
        default:
            let places = numbers.count > 1 ? numbers[1] : 0
            guard (-20...20).contains(places) else { throw wrongType("a place from -20 to 20") }
            let scale = pow(10, places.rounded())
            result = (numbers[0] * scale).rounded(.toNearestOrEven) / scale
        }
        guard result.isFinite else { throw ParseError(.invalidQuery, "The result of $\(rawValue) is too large.") }
        return JSON(number: result)
    }

    /// The result for dates and milliseconds: a date plus numbers is a date, the difference of two dates a number. Nil
    /// when there is no date.
    private func shiftedDate(_ values: [JSON]) throws -> JSON? {
        guard values.contains(where: { $0.timestamp != nil }) else { return nil }
        if self == .subtract, let start = values[0].timestamp, let end = values[1].timestamp {
            return .int(start.milliseconds - end.milliseconds)
        }
        guard values.filter({ $0.timestamp != nil }).count == 1, self == .add || values[0].timestamp != nil else {
            throw wrongType("one Date and numbers")
        }
        var total = 0.0
        for value in values {
            if let time = value.timestamp {
                total += Double(time.milliseconds)
            } else {
                guard let number = value.doubleValue else { throw wrongType("one Date and numbers") }
                total += self == .add ? number : -number
            }
        }
        // From year 1 to year 9999, the range of dates in documents.
        guard total >= -62_135_596_800_000, total <= 253_402_300_799_999 else {
            throw ParseError(.invalidQuery, "The result of $\(rawValue) is not a valid date.")
        }
        return Timestamp(milliseconds: Int64(total.rounded())).wire
    }

    /// `$sum`, `$avg`, `$min` and `$max` outside of `$group`: over the operands, or over a single array operand.
    private func accumulated(_ values: [JSON?]) throws -> JSON {
        var values = values
        if values.count == 1, case .array(let elements)? = values[0] { values = elements.map(Optional.some) }
        let known = values.compactMap { $0?.isNull == false ? $0 : nil }
        switch self {
        case .min: return known.min(by: ValueOrder.isBefore) ?? .null
        case .max: return known.max(by: ValueOrder.isBefore) ?? .null
        default:
            let numbers = known.compactMap(\.doubleValue)
            if self == .avg, numbers.isEmpty { return .null }
            let sum = numbers.reduce(into: ExactSum()) { $0.add($1) }.value
            let result = self == .avg ? sum / Double(numbers.count) : sum
            return result.isFinite ? JSON(number: result) : .null
        }
    }

    private func changedCase(_ value: JSON?) throws -> String {
        switch value {
        case nil, .null?: return ""
        case .string(let text)?: return self == .toLower ? text.lowercased() : text.uppercased()
        default: throw wrongType("a text")
        }
    }

    private static func isTrue(_ value: JSON?) -> Bool {
        switch value {
        case nil, .null?, .bool(false)?: false
        case .int(let number)?: number != 0
        case .double(let number)?: number != 0
        default: true
        }
    }

    private func wrongType(_ wanted: String) -> ParseError {
        ParseError(.invalidQuery, "$\(rawValue) needs \(wanted).")
    }
}

/// A sum that does not accumulate rounding errors (Neumaier's variant of Kahan's algorithm): ten times 0.1 is 1.
struct ExactSum {
    private var sum = 0.0
    private var correction = 0.0

    mutating func add(_ number: Double) {
        let next = sum + number
        correction += abs(sum) >= abs(number) ? (sum - next) + number : (number - next) + sum
        sum = next
    }

    var value: Double {
        // After an overflow the correction is not a number.
        let corrected = sum + correction
        return corrected.isFinite ? corrected : sum
    }
}
