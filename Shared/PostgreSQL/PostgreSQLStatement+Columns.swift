import CPostgreSQL

/// The column types that are not read as text (`pg_type.oid`, the same on all servers).
private enum ColumnType {
    static let integers: Set<Oid> = [20, 21, 23, 26]
    static let reals: Set<Oid> = [700, 701]
    static let bool: Oid = 16
    static let bytea: Oid = 17
    static let numeric: Oid = 1700
}

extension PostgreSQLStatement {
    /// The current result; nil without a current row, without this column or for NULL.
    private func cell(_ column: Int32) -> OpaquePointer? {
        guard let result, row >= 0, row < PQntuples(result), column >= 0, column < PQnfields(result),
            PQgetisnull(result, row, column) == 0
        else { return nil }
        return result
    }

    /// The text of a column of the current row; hexadecimal digits for a bytea. Valid until the next step. Empty for
    /// NULL.
    package func bytes(_ column: Int32) -> UnsafeBufferPointer<UInt8> {
        guard let cell = cell(column), let start = PQgetvalue(cell, row, column) else {
            return UnsafeBufferPointer(start: nil, count: 0)
        }
        let bytes = UnsafeRawBufferPointer(start: start, count: Int(PQgetlength(cell, row, column)))
        return bytes.bindMemory(to: UInt8.self)
    }

    package func isNull(_ column: Int32) -> Bool { cell(column) == nil }

    package func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }

    /// The integer. 1 or 0 for a boolean. Other numbers lose their fraction and are limited to the range of `Int64`. 0
    /// for anything else.
    package func int(_ column: Int32) -> Int64 {
        let bytes = bytes(column)
        if let value = Digits.integer(bytes) { return value }
        if bytes.elementsEqual("t".utf8) { return 1 }
        guard let value = Double(text(column)) else { return 0 }
        return value.isNaN ? 0 : Int64(exactly: value.rounded(.towardZero)) ?? (value < 0 ? .min : .max)
    }

    /// The number. 1 or 0 for a boolean, 0 for anything else.
    package func real(_ column: Int32) -> Double {
        Double(text(column)) ?? (bytes(column).elementsEqual("t".utf8) ? 1 : 0)
    }

    /// The bytes of a bytea.
    package func blob(_ column: Int32) -> [UInt8] { Digits.bytes(bytes(column)) ?? [] }

    /// The value by the column's type. Integers are `int`, as are a numeric without a fraction that fits into 64 bits
    /// and booleans (1 or 0). Other numbers are `real`, bytea is `blob`, every other type is `text`.
    package func value(_ column: Int32) -> PostgreSQLValue {
        guard let cell = cell(column) else { return .null }
        let type = PQftype(cell, column)
        switch type {
        case ColumnType.bytea: return .blob(blob(column))
        case ColumnType.bool: return .int(int(column))
        case _ where ColumnType.integers.contains(type): return .int(int(column))
        case _ where ColumnType.reals.contains(type): return .real(real(column))
        case ColumnType.numeric: return Digits.integer(bytes(column)).map { .int($0) } ?? .real(real(column))
        default: return .text(text(column))
        }
    }

    package var columnCount: Int32 { result.map(PQnfields) ?? 0 }

    /// The names of the columns; empty before the first step.
    package var columnNames: [String] {
        guard let result else { return [] }
        return (0..<PQnfields(result)).map { PQfname(result, $0).map { String(cString: $0) } ?? "" }
    }
}

/// Parses the server's text form of numbers and bytes.
enum Digits {
    /// The integer; a fraction of zeros is allowed. Nil for other text and for numbers that do not fit into 64 bits.
    static func integer(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
        let isNegative = text.first == UInt8(ascii: "-")
        let digits = text[(isNegative ? 1 : 0)...]
        let whole = digits.prefix { $0 != UInt8(ascii: ".") }
        guard !whole.isEmpty, digits.dropFirst(whole.count + 1).allSatisfy({ $0 == UInt8(ascii: "0") }) else {
            return nil
        }
        var value: Int64 = 0
        for digit in whole {
            guard (48...57).contains(digit) else { return nil }
            // Accumulates below zero, because the negative range has one number more.
            let (product, isTooSmall) = value.multipliedReportingOverflow(by: 10)
            let (sum, isTooSmallYet) = product.subtractingReportingOverflow(Int64(digit) - 48)
            guard !isTooSmall, !isTooSmallYet else { return nil }
            value = sum
        }
        guard !isNegative else { return value }
        return value == .min ? nil : -value
    }

    /// The bytes of `\x` and pairs of hexadecimal digits; nil for anything else.
    static func bytes(_ text: UnsafeBufferPointer<UInt8>) -> [UInt8]? {
        guard text.starts(with: "\\x".utf8), text.count % 2 == 0 else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 2 - 1)
        for index in stride(from: 2, to: text.count, by: 2) {
            guard let high = nibble(text[index]), let low = nibble(text[index + 1]) else { return nil }
            bytes.append(high << 4 | low)
        }
        return bytes
    }

    private static func nibble(_ digit: UInt8) -> UInt8? {
        switch digit {
        case 48...57: digit - 48
        case 97...102: digit - 87
        case 65...70: digit - 55
        default: nil
        }
    }
}
