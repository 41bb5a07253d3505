import Foundation
@preconcurrency import GatewayService
import ParseProtocol

/// An upload's path into the gateway, and the parsers around it: names, types, the JSON form, ranges, paths, query
/// strings, CSV, the storefront's forms and its photos.
///
/// An input's first line serves as a name, a path, a range and a query string. Its second line is a content type, the
/// rest is the body.
struct FileTarget: FuzzTarget {
    let name = "files"
    let testInputs = 2500
    let dictionary = [
        "bytes=", "bytes=0-", "bytes=-1", "0-9223372036854775807", "99999999999999999999", ",", "-", "%", "%2e%2e",
        "%00", "..", "/", "\\", ".png",
        ".html", ".svg", ".txt", "image/png", "text/html", "text/plain; charset=utf-8", ";", "application/octet-stream",
        "{\"base64\":\"aGVsbG8=\"}",
        "base64", "_ContentType", "_ApplicationId", "_method", "_SessionToken", "_context", "fileData", "metadata",
        "tags", "aGVsbG8=", "====", "where",
        "=", "&", "+", "\"", "\"\"", "\r\n", "\u{FEFF}", "\u{301}", "\0",
        "--b", "\r\n--b", "--b--", "\r\n\r\n", "multipart/form-data; boundary=b", "; name=\"a\"", "; filename=\"a\"",
        "application/x-www-form-urlencoded", "Exif\0\0MM", "II*\0", "IHDR", "IDAT", "IEND", "ICC_PROFILE",
    ]

    private static let bytesMax = 4096

    func generate(_ random: inout Seeded) -> [UInt8] {
        let first = random.pick([
            "photo.png", "a b.txt", "_x", "bytes=\(random.below(20))-\(random.below(20))", "bytes=-\(random.below(20))",
            "where=%7B%22a%22%3A1%7D&limit=2&order=-a,b", "/parse/files/a%20b.png", "/parse/classes/A//b/",
        ])
        var type = random.pick([
            "image/png", "text/plain", "text/plain; charset=utf-8", "", "application/json", "IMAGE/JPEG",
            "application/x-www-form-urlencoded",
        ])
        let body: [UInt8]
        switch random.below(5) {
        case 0:
            let json: JSON = [
                "base64": .string(Data(random.bytes(random.below(60))).base64EncodedString()),
                "_ContentType": .string(type),
                "_ApplicationId": "satchel",
                "fileData": [
                    "metadata": ValueKind.object.value(&random), "tags": ["a": random.pick(ValueKind.strings)],
                ],
            ]
            body = json.serialized
        case 1:
            body = ClientInput.csv(
                (0..<random.below(5)).map { _ in
                    (0..<(1 + random.below(4))).map { _ in random.pick(ValueKind.strings).stringValue ?? "" }
                })
        case 2:
            type = "multipart/form-data; boundary=b"
            body = Self.form(&random)
        case 3: body = Self.photo(&random)
        default: body = random.bytes(random.below(100))
        }
        return Array("\(first)\n\(type)\n".utf8) + body
    }

    private static func form(_ random: inout Seeded) -> [UInt8] {
        var form: [UInt8] = []
        for number in 0..<random.below(4) {
            let file = random.chance(40) ? "; filename=\"a\"\r\nContent-Type: image/png" : ""
            form += Array("--b\r\nContent-Disposition: form-data; name=\"f\(number)\"\(file)\r\n\r\n".utf8)
            form += random.bytes(random.below(30)) + Array("\r\n".utf8)
        }
        return form + Array("--b--\r\n".utf8)
    }

    private static func photo(_ random: inout Seeded) -> [UInt8] {
        if random.chance(40) {
            var photo: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            for kind in ["IHDR", random.pick(["tEXt", "eXIf", "iCCP"]), "IDAT", "IEND"] {
                let content = random.bytes(random.below(20))
                photo += [0, 0, 0, UInt8(content.count)]
                photo += Array(kind.utf8) + content + random.bytes(4)
            }
            return photo
        }
        let direction: [UInt8] = Array("Exif\0\0MM".utf8) + [0, 42, 0, 0, 0, 8, 0, 1, 1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6]
        var photo: [UInt8] = [0xFF, 0xD8]
        for _ in 0..<random.below(5) {
            let (kind, content): (UInt8, [UInt8]) =
                random.chance(30) ? (0xE1, direction) : (UInt8(0xC0 + random.below(64)), random.bytes(random.below(20)))
            photo += [0xFF, kind, 0, UInt8(content.count + 2)] + content
        }
        return photo + [0xFF, 0xDA, 0, 2] + random.bytes(random.below(30)) + [0xFF, 0xD9]
    }

    func run(_ input: [UInt8]) async throws -> String {
        let lines = input.split(separator: 10, maxSplits: 2, omittingEmptySubsequences: false)
        let first = String(decoding: lines[0], as: UTF8.self)
        let type = lines.count > 1 ? String(decoding: lines[1], as: UTF8.self) : ""
        let body = lines.count > 2 ? Array(lines[2]) : []
        // `ConnectionGuard` refuses such a head before the gateway parses it.
        guard !first.exceedsMarkLimit, !type.exceedsMarkLimit else { return "400" }
        var words: [String] = []
        func step(_ body: () throws -> String) throws {
            do {
                words.append(try body())
            } catch let violation as Violation {
                throw violation
            } catch {
                words.append(try PublicError.check(error, input: input))
            }
        }
        try step { "\(try ClientInput.path(first).count)" }
        try step { try ClientInput.options(query: first).keys.sorted().joined(separator: "&") }
        try step { try checkFile(try ClientInput.file(body, named: first, contentType: type, bytesMax: Self.bytesMax)) }
        try step { try checkFile(try ClientInput.file(tunnelled: body, named: first, bytesMax: Self.bytesMax)) }
        for size in [0, 1, 10, Int.max] {
            guard let range = ClientInput.range(first, size: size) else { continue }
            try require(
                range.lowerBound >= 0 && range.upperBound <= size, "The range \(range) of a file of \(size) bytes")
            words.append("\(range == 0..<size)")
        }
        try step { try checkCSV(body) }
        try step { try checkForm(body, type) }
        try step { try checkPhoto(body) }
        return words.joined(separator: " ")
    }

    /// For any input, the stored file has a harmless name and a type that no browser executes.
    private func checkFile(_ file: (name: String, contentType: String, content: [UInt8])) throws -> String {
        let harmless = Set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789@. ~_-".utf8)
        try require(
            file.name.utf8.allSatisfy(harmless.contains) && file.name.utf8.count <= 133, "The name \(file.name)")
        try require(!file.name.hasPrefix(".") && file.name.contains("."), "The name \(file.name)")
        let dangerous = ["html", "svg", "xml", "script"]
        try require(
            !dangerous.contains { file.name.lowercased().hasSuffix(".\($0)") || file.contentType.contains($0) },
            "\(file.name) is \(file.contentType)")
        try require(
            !file.content.isEmpty && file.content.count <= Self.bytesMax, "\(file.content.count) bytes were taken.")
        return file.contentType
    }

    private func checkForm(_ body: [UInt8], _ type: String) throws -> String {
        let form = try ClientInput.pageForm(body, contentType: type)
        let bytes = form.fields.reduce(form.file.count) { $0 + $1.key.utf8.count + $1.value.utf8.count }
        // A byte that is no UTF-8 becomes a character of three.
        try require(bytes <= body.count * 3, "A form of \(body.count) bytes has \(bytes).")
        return "\(form.fields.count) \(form.file.isEmpty) \(form.fileType.isEmpty)"
    }

    private func checkPhoto(_ photo: [UInt8]) throws -> String {
        guard let kept = PhotoMetadata.removed(from: photo) else { return "no photo" }
        try require(PhotoMetadata.removed(from: kept) == kept, "The photo changes again.")
        return "photo"
    }

    private func checkCSV(_ bytes: [UInt8]) throws -> String {
        let rows = try ClientInput.rows(csv: bytes)
        let again = try ClientInput.rows(csv: ClientInput.csv(rows))
        try require(again == rows, "\(rows) is read back as \(again)")
        return "\(rows.count) rows of \(rows.first?.count ?? 0)"
    }
}
