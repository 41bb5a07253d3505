/// Bytes as hexadecimal digits: the single form in which digests, tokens and keys are stored, sent and compared. Stored
/// values are looked up by this text, so the form must never change: lower case, two digits per byte.
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
    /// The bytes of such a text, in either letter case; nil for anything else, including an odd number of digits.
    public init?(hex text: some StringProtocol) {
        let digits = text.utf8.compactMap { Character(Unicode.Scalar($0)).hexDigitValue }
        guard digits.count == text.utf8.count, digits.count.isMultiple(of: 2) else { return nil }
        self = stride(from: 0, to: digits.count, by: 2).map { UInt8(digits[$0] << 4 | digits[$0 + 1]) }
    }
}

/// Random texts of hexadecimal digits.
public enum Hex {
    fileprivate static let digits = Array("0123456789abcdef".utf8)

    /// Random bytes from the system's secure generator, as two digits each.
    public static func random(bytes count: Int) -> String {
        var bytes: [UInt8] = []
        while bytes.count < count {
            // Each number from the generator is a system call; a number has eight bytes.
            withUnsafeBytes(of: UInt64.random(in: .min ... .max)) { bytes.append(contentsOf: $0) }
        }
        return bytes.prefix(count).hex
    }
}
