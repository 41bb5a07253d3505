import Foundation

/// A drawn product photo: a bottle, a jar or a tube in front of a wall, the same on every machine. There are `count`
/// variants.
struct DemoPicture {
    static let count = 12
    /// Width and height in pixels. The catalog makes a thumbnail of 408 pixels from it.
    static let side = 816

    let number: Int

    /// A PNG with a palette: one half of the colours is for the wall, from dark to bright, the other for the product.
    var png: [UInt8] {
        let hue = Double(number % DemoPicture.count) / Double(DemoPicture.count)
        let colours = (0..<256).map { index -> [UInt8] in
            let light = Double(index % 128) / 127
            return index < 128
                ? DemoPicture.colour(hue: hue, saturation: 0.12, value: 0.78 + 0.2 * light)
                : DemoPicture.colour(hue: hue + 0.45, saturation: 0.55 - 0.3 * light, value: 0.45 + 0.5 * light)
        }
        return PaletteImage(side: DemoPicture.side, colours: colours, colour(x:y:)).png
    }

    private func colour(x: Int, y: Int) -> UInt8 {
        let side = Double(DemoPicture.side)
        let (x, y) = (Double(x) / side - 0.5, Double(y) / side)
        let width = 0.14 + 0.03 * Double(number % 4)
        let top = 0.28 + 0.06 * Double(number % 3)
        let isBody = abs(x) < width && (top..<0.86).contains(y)
        let isCap = abs(x) < width * 0.45 && (top - 0.14..<top).contains(y)
        guard isBody || isCap else {
            // Light from the upper left, and a floor.
            let light = y > 0.82 ? 0.35 + (y - 0.82) : 1 - 0.5 * y - 0.3 * abs(x + 0.2)
            return UInt8(max(0, min(127, light * 127)))
        }
        // Round objects are brightest left of their centre.
        let light = max(0, 1 - abs(x / width + 0.35) * 0.8) * (isCap ? 0.6 : 1)
        return 128 + UInt8(max(0, min(127, light * 127)))
    }

    private static func colour(hue: Double, saturation: Double, value: Double) -> [UInt8] {
        // Explicit types: inferring them takes the compiler a minute and a half.
        let shifts: [Double] = [0, 2.0 / 3, 1.0 / 3]
        return shifts.map { (shift: Double) -> UInt8 in
            let turned: Double = (hue + shift).truncatingRemainder(dividingBy: 1)
            let distance: Double = abs(turned * 6 - 3) - 1
            let channel: Double = value * (1 - saturation + saturation * max(0, min(1, distance)))
            return UInt8(max(0, min(255, channel * 255)))
        }
    }
}

/// A square image of at most 256 colours, and its PNG (RFC 2083) without compression.
private struct PaletteImage {
    let side: Int
    let colours: [[UInt8]]
    let pixel: (_ x: Int, _ y: Int) -> UInt8

    init(side: Int, colours: [[UInt8]], _ pixel: @escaping (_ x: Int, _ y: Int) -> UInt8) {
        (self.side, self.colours, self.pixel) = (side, colours, pixel)
    }

    var png: [UInt8] {
        var rows: [UInt8] = []
        rows.reserveCapacity(side * (side + 1))
        for y in 0..<side {
            rows.append(0)  // No filter.
            for x in 0..<side { rows.append(pixel(x, y)) }
        }
        let header = Self.number(side) + Self.number(side) + [8, 3, 0, 0, 0]
        return [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A] + Self.chunk("IHDR", header)
            + Self.chunk("PLTE", colours.flatMap(\.self)) + Self.chunk("IDAT", Self.stored(rows))
            + Self.chunk("IEND", [])
    }

    private static func number(_ value: Int) -> [UInt8] { bytes(UInt32(truncatingIfNeeded: value)) }

    private static func bytes(_ value: UInt32) -> [UInt8] {
        (0..<4).map { UInt8(truncatingIfNeeded: value >> (24 - 8 * $0)) }
    }

    private static func chunk(_ type: String, _ content: [UInt8]) -> [UInt8] {
        let checked = Array(type.utf8) + content
        return number(content.count) + checked + bytes(checksum(checked))
    }

    /// zlib format with stored (uncompressed) blocks (RFC 1950 and 1951).
    private static func stored(_ content: [UInt8]) -> [UInt8] {
        var output: [UInt8] = [0x78, 0x01]
        var (a, b): (UInt32, UInt32) = (1, 0)
        for start in stride(from: 0, to: content.count, by: 65_535) {
            let block = content[start..<min(start + 65_535, content.count)]
            let length = UInt16(block.count)
            output.append(block.endIndex == content.count ? 1 : 0)
            for value in [length, ~length] { output += [UInt8(value & 0xFF), UInt8(value >> 8)] }
            output += block
            for byte in block {
                a = (a + UInt32(byte)) % 65_521
                b = (b + a) % 65_521
            }
        }
        return output + bytes(b << 16 | a)
    }

    private static let table: [UInt32] = (0..<256).map { index in
        (0..<8).reduce(UInt32(index)) { (value: UInt32, _: Int) -> UInt32 in
            value & 1 == 1 ? 0xEDB8_8320 ^ (value >> 1) : value >> 1
        }
    }

    private static func checksum(_ content: [UInt8]) -> UInt32 {
        ~content.reduce(UInt32.max) { table[Int(($0 ^ UInt32($1)) & 0xFF)] ^ ($0 >> 8) }
    }
}
