import Foundation
import ParseProtocol
import TestSupport

/// Test images, generated with libvips' own tool.
final class TestImages: Sendable {
    let folder = FileManager.default.temporaryDirectory.path + "/satchel-images-\(Names.random(10))"

    init() throws { try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true) }
    deinit { try? FileManager.default.removeItem(atPath: folder) }

    /// A noisy picture whose content differs at each position.
    func make(_ name: String, width: Int, height: Int) async throws -> [UInt8] {
        try await run(["vips", "gaussnoise", "\(folder)/n.v", "\(width)", "\(height)", "--mean", "128"])
        try await run(["vips", "cast", "\(folder)/n.v", "\(folder)/c.v", "uchar"])
        try await run(["vips", "copy", "\(folder)/c.v", "\(folder)/\(name)"])
        return bytes(name)
    }

    /// A picture of one colour, given as red, green and blue.
    func plain(_ name: String, _ colour: [Int]) async throws -> [UInt8] {
        try await run(["vips", "black", "\(folder)/b.v", "300", "200", "--bands", "3"])
        let numbers = colour.map(String.init).joined(separator: " ")
        try await run(["vips", "linear", "\(folder)/b.v", "\(folder)/l.v", "1 1 1", numbers])
        try await run(["vips", "cast", "\(folder)/l.v", "\(folder)/p.v", "uchar"])
        try await run(["vips", "copy", "\(folder)/p.v", "\(folder)/\(name)", "--interpretation", "srgb"])
        return bytes(name)
    }

    /// The colour of an image near its corner.
    func colour(of content: [UInt8]) async throws -> [Double] {
        _ = FileManager.default.createFile(atPath: "\(folder)/looked-at", contents: Data(content))
        let numbers = try await Command.run(["vips", "getpoint", "\(folder)/looked-at", "5", "5"])
        return numbers.split(whereSeparator: \.isWhitespace).compactMap { Double($0) }
    }

    /// A complete and valid PNG of 200 million pixels in some 25 KB.
    func bomb() async throws -> [UInt8] {
        let program = """
            import struct, sys, zlib
            def chunk(kind, content):
                return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", zlib.crc32(kind + content))
            rows = zlib.compress(bytes(2501 * 10000))
            open(sys.argv[1], "wb").write(b"\\x89PNG\\r\\n\\x1a\\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", 20000, \
            10000, 1, 0, 0, 0, 0))
                + chunk(b"IDAT", rows) + chunk(b"IEND", b""))
            """
        try await run(["python3", "-c", program, "\(folder)/bomb.png"])
        return bytes("bomb.png")
    }

    /// An image's field by vipsheader's name, such as `width` or `exif-data`; nil when the image lacks it.
    func field(_ field: String, of content: [UInt8]) async -> String? {
        _ = FileManager.default.createFile(atPath: "\(folder)/looked-at", contents: Data(content))
        return try? await Command.run(["vipsheader", "-f", field, "\(folder)/looked-at"])
            .trimmingCharacters(in: .whitespacesAndNewlines)
    }

    func bytes(_ name: String) -> [UInt8] { Array(FileManager.default.contents(atPath: "\(folder)/\(name)") ?? Data()) }

    private func run(_ arguments: [String]) async throws { _ = try await Command.run(["/usr/bin/env"] + arguments) }
}

/// A TIFF block of EXIF data (big-endian) as a JPEG's APP1 segment: the orientation and a position in degrees.
func exifSegment(orientation: UInt8) -> [UInt8] {
    func entry(_ tag: UInt16, _ type: UInt16, _ count: UInt32, _ value: [UInt8]) -> [UInt8] {
        [UInt8(tag >> 8), UInt8(tag & 0xFF), 0, UInt8(type), 0, 0, 0, UInt8(count)] + value
    }
    let header: [UInt8] = Array("MM".utf8) + [0, 42, 0, 0, 0, 8]
    // Two entries in the first directory: 8 + 2 + 24 + 4 = 38 is the offset of the GPS directory.
    let first: [UInt8] =
        [0, 2] + entry(0x0112, 3, 1, [0, orientation, 0, 0]) + entry(0x8825, 4, 1, [0, 0, 0, 38]) + [0, 0, 0, 0]
    let gps: [UInt8] =
        [0, 2] + entry(1, 2, 2, [UInt8(ascii: "N"), 0, 0, 0]) + entry(2, 5, 3, [0, 0, 0, 68]) + [0, 0, 0, 0]
    let degrees: [UInt8] = [51, 30, 26].flatMap { [0, 0, 0, $0, 0, 0, 0, 1] }
    let content = Array("Exif".utf8) + [0, 0] + header + first + gps + degrees
    let length = content.count + 2
    return [0xFF, 0xE1, UInt8(length >> 8), UInt8(length & 0xFF)] + content
}
