import Foundation
@preconcurrency import GatewayService
import ParseProtocol

/// An upload's path into the gateway, and the parsers around it: names, types, the JSON form, ranges, paths, query
/// strings and CSV.
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
    ]

    private static let bytesMax = 4096

    func generate(_ random: inout Seeded) -> [UInt8] {
        let first = random.pick([
            "photo.png", "a b.txt", "_x", "bytes=\(random.below(20))-\(random.below(20))", "bytes=-\(random.below(20))",
            "where=%7B%22a%22%3A1%7D&limit=2&order=-a,b", "/parse/files/a%20b.png", "/parse/classes/A//b/",
        ])
        let type = random.pick([
            "image/png", "text/plain", "text/plain; charset=utf-8", "", "application/json", "IMAGE/JPEG",
        ])
        let body: [UInt8]
        switch random.below(3) {
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
        default: body = random.bytes(random.below(100))
        }
        return Array("\(first)\n\(type)\n".utf8) + body
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

    private func checkCSV(_ bytes: [UInt8]) throws -> String {
        let rows = try ClientInput.rows(csv: bytes)
        let again = try ClientInput.rows(csv: ClientInput.csv(rows))
        try require(again == rows, "\(rows) is read back as \(again)")
        return "\(rows.count) rows of \(rows.first?.count ?? 0)"
    }
}
