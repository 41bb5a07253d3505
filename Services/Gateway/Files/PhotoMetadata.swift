/// Takes what a photo tells beside the picture, such as the place where it was taken, out of a JPEG or PNG. The
/// direction in which a phone was held stays.
package enum PhotoMetadata {
    /// - Returns: nil for a file that is neither, or is damaged.
    package static func removed(from photo: [UInt8]) -> [UInt8]? {
        if photo.starts(with: [0xFF, 0xD8]) { return jpeg(photo) }
        return photo.starts(with: pngStart) ? png(photo) : nil
    }

    private static let pngStart: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
    private static let profileStart = Array("ICC_PROFILE".utf8)
    private static let exifStart: [UInt8] = Array("Exif".utf8) + [0, 0]

    private static func jpeg(_ photo: [UInt8]) -> [UInt8]? {
        var output: [UInt8] = [0xFF, 0xD8]
        var offset = 2
        while offset + 4 <= photo.count, photo[offset] == 0xFF {
            let kind = photo[offset + 1]
            if kind == 0xDA { return output + photo[offset..<pictureEnd(from: offset, in: photo)] }
            let length = Int(photo[offset + 2]) << 8 | Int(photo[offset + 3])
            let end = offset + 2 + length
            guard length >= 2, end <= photo.count else { return nil }
            switch kind {
            case 0xE1:
                if let direction = direction(in: photo[(offset + 4)..<end]) { output += exif(direction) }
            case 0xE2: if photo[(offset + 4)..<end].starts(with: profileStart) { output += photo[offset..<end] }
            // Other programs' data, and comments. JFIF and Adobe's colours stay.
            case 0xE3...0xED, 0xEF, 0xFE: break
            default: output += photo[offset..<end]
            }
            offset = end
        }
        return nil
    }

    /// The end of the picture's scans. Some phones add a second picture behind it, with metadata of its own.
    private static func pictureEnd(from start: Int, in photo: [UInt8]) -> Int {
        var offset = start
        while offset + 4 <= photo.count {
            let kind = photo[offset + 1]
            offset += 2 + (Int(photo[offset + 2]) << 8 | Int(photo[offset + 3]))
            guard kind == 0xDA else { continue }
            // In a scan 0xFF is followed by 0, or by the number of a restart.
            while offset + 1 < photo.count,
                photo[offset] != 0xFF || photo[offset + 1] == 0 || photo[offset + 1] == 0xFF
                    || (0xD0...0xD7).contains(photo[offset + 1])
            { offset += 1 }
            if offset + 1 < photo.count, photo[offset + 1] == 0xD9 { return offset + 2 }
        }
        return photo.count
    }

    /// The value of `Orientation`; nil for none.
    private static func direction(in segment: ArraySlice<UInt8>) -> UInt8? {
        guard segment.starts(with: exifStart) else { return nil }
        let tiff = Array(segment.dropFirst(exifStart.count))
        guard tiff.count >= 8 else { return nil }
        let isBig = tiff[0] == UInt8(ascii: "M")
        func number(_ offset: Int, _ bytes: Int) -> Int? {
            guard offset >= 0, offset + bytes <= tiff.count else { return nil }
            let part = tiff[offset..<(offset + bytes)]
            return (isBig ? Array(part) : Array(part.reversed())).reduce(0) { $0 << 8 | Int($1) }
        }
        guard let start = number(4, 4), let count = number(start, 2) else { return nil }
        for entry in 0..<min(count, 64) {
            let offset = start + 2 + entry * 12
            guard number(offset, 2) == 0x0112 else { continue }
            return number(offset + 8, 2).flatMap { (1...8).contains($0) ? UInt8($0) : nil }
        }
        return nil
    }

    /// A segment with the direction alone.
    private static func exif(_ direction: UInt8) -> [UInt8] {
        let directory: [UInt8] = [0, 1, 0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, direction, 0, 0, 0, 0, 0, 0]
        let content = exifStart + Array("MM".utf8) + [0, 42, 0, 0, 0, 8] + directory
        return [0xFF, 0xE1, 0, UInt8(content.count + 2)] + content
    }

    /// The chunks of the picture and its colours.
    private static let pngParts: Set<String> = [
        "IHDR", "PLTE", "IDAT", "IEND", "tRNS", "gAMA", "cHRM", "sRGB", "iCCP", "cICP", "sBIT", "bKGD", "pHYs", "acTL",
        "fcTL", "fdAT",
    ]

    private static func png(_ photo: [UInt8]) -> [UInt8]? {
        var output = pngStart
        var offset = pngStart.count
        while offset + 12 <= photo.count {
            let length = photo[offset..<(offset + 4)].reduce(0) { $0 << 8 | Int($1) }
            let end = offset + 12 + length
            guard end <= photo.count else { return nil }
            let kind = String(decoding: photo[(offset + 4)..<(offset + 8)], as: UTF8.self)
            if pngParts.contains(kind) { output += photo[offset..<end] }
            if kind == "IEND" { return output }
            offset = end
        }
        return nil
    }
}
