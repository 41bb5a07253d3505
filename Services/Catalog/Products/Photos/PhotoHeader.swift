import Foundation

/// The header of an image, read before any decoding.
package struct PhotoHeader: Equatable {
    package let width: Int
    package let height: Int
    /// Whether the image has an alpha channel, which JPEG does not support.
    package let hasAlpha: Bool
    package let isPNG: Bool

    /// The libvips loaders that are used for photos.
    private static let loaders: Set<Substring> = ["jpegload", "pngload", "webpload", "gifload", "heifload"]

    /// Parses the output of `vipsheader`: `/some/file: 4000x3000 uchar, 3 bands, srgb, jpegload`. Nil for other text,
    /// and for formats that are not accepted as photos.
    package init?(_ line: String) {
        guard let separator = line.range(of: ": ", options: .backwards) else { return nil }
        let fields = line[separator.upperBound...].split(separator: "\n").first?.split(separator: ",").map {
            $0.drop { $0 == " " }
        }
        guard let fields, fields.count >= 4, Self.loaders.contains(fields[3]),
            let size = fields[0].split(separator: " ").first?.split(separator: "x"), size.count == 2,
            let width = Int(size[0]), let height = Int(size[1]), width > 0, height > 0,
            let bands = fields[1].split(separator: " ").first.flatMap({ Int($0) })
        else { return nil }
        self.width = width
        self.height = height
        isPNG = fields[3] == "pngload"
        hasAlpha = bands == 2 || (bands == 4 && fields[2] != "cmyk")
    }

    /// Whether a file starts like one of the photo formats. Checked first, so that no other file reaches a decoder.
    package static func isPhoto(_ start: [UInt8]) -> Bool {
        func has(_ text: String, at offset: Int) -> Bool { start.dropFirst(offset).starts(with: text.utf8) }
        if start.starts(with: [0xFF, 0xD8, 0xFF])
            || start.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A])
        {
            return true
        }
        if has("GIF87a", at: 0) || has("GIF89a", at: 0) || (has("RIFF", at: 0) && has("WEBP", at: 8)) { return true }
        return has("ftyp", at: 4) && ["heic", "heix", "mif1", "avif"].contains { has($0, at: 8) }
    }
}
