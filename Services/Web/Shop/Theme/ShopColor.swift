import Foundation

/// A colour without transparency, written as `#8a3b52`.
package struct ShopColor: Sendable, Equatable, CustomStringConvertible {
    /// Red, green and blue, 0 to 255.
    private let parts: [Int]

    package static let white = ShopColor(parts: [255, 255, 255])
    package static let black = ShopColor(parts: [0, 0, 0])

    private init(parts: [Int]) { self.parts = parts }

    /// - Returns: nil for a text that is not `#` with six hex digits. Other notations of CSS are not colours here.
    package init?(_ text: String) {
        let bytes = Array(text.utf8)
        guard bytes.count == 7, bytes[0] == UInt8(ascii: "#") else { return nil }
        var digits: [Int] = []
        for byte in bytes.dropFirst() {
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digits.append(Int(byte - UInt8(ascii: "0")))
            case UInt8(ascii: "a")...UInt8(ascii: "f"): digits.append(Int(byte - UInt8(ascii: "a")) + 10)
            case UInt8(ascii: "A")...UInt8(ascii: "F"): digits.append(Int(byte - UInt8(ascii: "A")) + 10)
            default: return nil
            }
        }
        parts = stride(from: 0, to: 6, by: 2).map { digits[$0] * 16 + digits[$0 + 1] }
    }

    package var description: String {
        let digits = Array("0123456789abcdef")
        return parts.reduce(into: "#") { text, part in
            text.append(digits[part / 16])
            text.append(digits[part % 16])
        }
    }

    /// - Parameter share: of the other colour, 0 to 1.
    func mixed(with other: ShopColor, _ share: Double) -> ShopColor {
        ShopColor(
            parts: zip(parts, other.parts).map { (own: Int, other: Int) -> Int in
                let value: Double = Double(own) + Double(other - own) * share
                return Int(value.rounded())
            })
    }

    /// https://www.w3.org/TR/WCAG22/#dfn-relative-luminance
    var luminance: Double {
        let linear = parts.map { part -> Double in
            let value = Double(part) / 255
            return value <= 0.04045 ? value / 12.92 : pow((value + 0.055) / 1.055, 2.4)
        }
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]
    }

    /// https://www.w3.org/TR/WCAG22/#dfn-contrast-ratio
    package func contrast(_ other: ShopColor) -> Double {
        let (a, b) = (luminance, other.luminance)
        return (max(a, b) + 0.05) / (min(a, b) + 0.05)
    }

    /// Black or white, whichever is easier to read on this colour: at least 4.58 to 1.
    var ink: ShopColor { contrast(.black) > contrast(.white) ? .black : .white }
}
