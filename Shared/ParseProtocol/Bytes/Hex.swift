/// Bytes as hexadecimal digits: the one form in which digests, tokens and keys are stored, sent and compared. What was
/// stored is found again by its text, so that the form must never change: lower case, two digits a byte.
extension Sequence where Element == UInt8 {
    /// Twice as many digits as there are bytes.
    public var hex: String {
        var text: [UInt8] = []
        text.reserveCapacity(2 * underestimatedCount)
        for byte in self {
            text.append(Hex.digits[Int(byte >> 4)])
            text.append(Hex.digits[Int(byte & 15)])
        }
        return String(decoding: text, as: UTF8.self)
    }
}

extension [UInt8] {
    /// The bytes that such a text stands for, in either letter case; nil for anything else, an odd number of digits
    /// among it.
    public init?(hex text: some StringProtocol) {
        let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        self = stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}

/// Random texts of hexadecimal digits.
public enum Hex {
    fileprivate static let digits = Array("0123456789abcdef".utf8)

    /// So many random bytes from the system's secure generator, as twice as many digits.
    public static func random(bytes count: Int) -> String {
        var bytes: [UInt8] = []
        while bytes.count < count {
            // Each number from the generator is a system call; one holds eight bytes.
            withUnsafeBytes(of: UInt64.random(in: .min ... .max)) { bytes.append(contentsOf: $0) }
        }
        return bytes.prefix(count).hex
    }
}
