import Foundation
import GatewayService
import ParseProtocol
import TestSupport
import Testing

/// The protocol's codes as docs/reference/protocol.md lists them, with their statuses. The listed unused codes never
/// occur.
@Suite struct CodeTests {
    @Test func eachCodeHasItsStatus() {
        for (code, status) in [1: 500, 2: 503, 100: 429, 101: 404, 129: 413, 155: 429] {
            #expect(ParseError.Code(rawValue: code).httpStatus == status)
        }
        for code in [-1, 102, 107, 111, 119, 137, 141, 142, 159, 200, 209, 255] {
            #expect(ParseError.Code(rawValue: code).httpStatus == 400)
        }
    }

    /// Rows of the documentation's code table: each code, and whether it has a status.
    private static func documented() throws -> [Int: Bool] {
        let text = try String(contentsOfFile: "\(checkoutDirectory)/docs/reference/protocol.md", encoding: .utf8)
        let section = text.components(separatedBy: "## Error codes").last?.components(separatedBy: "\n## ").first ?? ""
        var codes: [Int: Bool] = [:]
        for line in section.split(separator: "\n") where line.hasPrefix("| ") {
            let cells = line.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) }
            guard cells.count == 5 else { continue }
            let numbers = cells[0].replacingOccurrences(of: " ", with: "")
            // "126–128" is a range, "156,157" a list.
            let range = numbers.split(separator: "–").compactMap { Int($0) }
            let list =
                range.count == 2 ? Array(range[0]...range[1]) : numbers.split(separator: ",").compactMap { Int($0) }
            for code in list { codes[code] = !cells[2].isEmpty }
        }
        return codes
    }

    @Test func codesThatCannotOccurAreNowhere() throws {
        let documented = try Self.documented()
        #expect(documented.count > 85)
        var sources: [(path: String, text: String)] = []
        for folder in ["Services", "Shared"] {
            let files = FileManager.default.enumerator(atPath: "\(checkoutDirectory)/\(folder)")
            while let file = files?.nextObject() as? String {
                guard file.hasSuffix(".swift"), !file.contains("Generated/") else { continue }
                let path = "\(checkoutDirectory)/\(folder)/\(file)"
                sources.append((path, try String(contentsOfFile: path, encoding: .utf8)))
            }
        }
        let definition = try #require(sources.first { $0.path.hasSuffix("ParseProtocol/ParseError.swift") })
        var names: [Int: String] = [:]
        for line in definition.text.split(separator: "\n") where line.contains("static let") && line.contains("= Code(")
        {
            let words = line.split { " ()=".contains($0) }
            guard let last = words.last.flatMap({ Int($0) }), words.count >= 3 else { continue }
            names[last] = String(words[words.count - 3])
        }
        #expect(names[101] == "objectNotFound")
        #expect(names.count > 40)
        for code in names.keys { #expect(documented[code] != nil, "\(code) is missing in docs/reference/protocol.md.") }
        func uses(_ code: Int) -> [String] {
            sources.filter { source in
                guard source.path != definition.path else { return false }
                return source.text.contains("rawValue: \(code))")
                    || names[code].map { source.text.contains("(.\($0),") || source.text.contains("code == .\($0)") }
                        ?? false
            }.map(\.path)
        }
        #expect(!uses(102).isEmpty, "The search finds what is there.")
        #expect(!uses(119).isEmpty, "The search finds what is there.")
        for (code, occurs) in documented where !occurs {
            #expect(uses(code).isEmpty, "\(code) is said not to occur.")
        }
    }
}
