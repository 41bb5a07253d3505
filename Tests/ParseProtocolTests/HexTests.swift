import ParseProtocol
import Testing

/// The single hexadecimal form of bytes. Another form, for example without a leading zero or with capitals, would not
/// match stored values.
@Suite struct HexTests {
    @Test func everyByteHasTwoDigitsAndComesBack() {
        let bytes = [UInt8](0...255)
        #expect(bytes.hex.utf8.count == 512)
        #expect(bytes.hex.hasPrefix("000102"))
        #expect(bytes.hex.hasSuffix("fdfeff"))
        #expect([UInt8](hex: bytes.hex) == bytes)
        #expect([UInt8](hex: bytes.hex.uppercased()) == bytes)
        #expect([UInt8]().hex.isEmpty)
        #expect([UInt8](hex: "") == [])
    }

    /// `UInt8("+f", radix: 16)` succeeds, but a key must not contain a sign.
    @Test(arguments: ["0", "abc", "+f", "-1", "0x", "g0", "a b0", "é0", "٣٣", "ff\n0"])
    func whatIsNoTextOfBytesIsRefused(_ text: String) {
        #expect([UInt8](hex: text) == nil)
    }

    @Test func randomTextsHaveTheirLengthAndDiffer() {
        for count in [0, 1, 7, 8, 16, 33] { #expect([UInt8](hex: Hex.random(bytes: count))?.count == count) }
        #expect(Set((0..<200).map { _ in Hex.random(bytes: 16) }).count == 200)
    }
}
