import Foundation
import ProcessKit

/// The environment variables of the Node processes: an allow-list plus the names in `SATCHEL_CLOUD_ENV`.
package struct CodeEnvironment: Sendable {
    /// The variables of each process, as `NAME=value`.
    package let passed: [String]
    /// Names of this process's variables that are not passed on.
    private let withheld: Set<String>

    /// Needed by Node and programs that the code starts. None of them is a secret.
    private static let standard: Set<String> = [
        "PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "TZ", "TMPDIR", "LANG", "LANGUAGE", "LC_ALL", "LC_COLLATE",
        "LC_CTYPE", "LC_MESSAGES", "LC_MONETARY", "LC_NUMERIC", "LC_TIME", "NODE_ENV", "NODE_OPTIONS", "NODE_PATH",
        "NODE_EXTRA_CA_CERTS", "SSL_CERT_FILE", "SSL_CERT_DIR",
    ]
    private static let namesMax = 200

    /// - Throws: `StartupProblem` for an invalid list of names.
    package init(_ settings: Settings) throws(StartupProblem) {
        let key = "satchel.cloud.env"
        let names = (settings[key] ?? "").split { $0 == "," || $0 == " " }.map(String.init)
        guard names.count <= Self.namesMax, names.allSatisfy(Self.isName) else {
            throw settings.wrong(key, "must be names of environment variables, separated by commas.")
        }
        let allowed = Self.standard.union(names)
        passed = settings.environment(passing: allowed)
        withheld = settings.variables(withheldBy: allowed)
    }

    private static func isName(_ text: String) -> Bool {
        !text.utf8.isEmpty && text.utf8.first.map { !(0x30...0x39).contains($0) } == true
            && text.utf8.allSatisfy { $0 == UInt8(ascii: "_") || isAlphanumeric($0) }
    }

    fileprivate static func isAlphanumeric(_ byte: UInt8) -> Bool {
        (0x30...0x39).contains(byte) || (0x41...0x5A).contains(byte) || (0x61...0x7A).contains(byte)
    }
}

// MARK: - Mentions

extension CodeEnvironment {
    /// Maximum bytes of code to search, 64 MiB, and of one file, 1 MiB.
    private static let bytesMax = 64 << 20
    private static let fileBytesMax = 1 << 20

    /// Variables that the code in a folder uses as `process.env.NAME` and that this process has but does not pass on.
    /// Code written before the allow-list existed would miss them.
    package func missed(byCodeIn folder: String) -> [String] {
        guard !withheld.isEmpty else { return [] }
        var missed: Set<String> = []
        var left = Self.bytesMax
        let paths = FileManager.default.enumerator(atPath: folder)
        while left > 0, let path = paths?.nextObject() as? String {
            guard ["js", "cjs", "mjs"].contains((path as NSString).pathExtension),
                let file = FileManager.default.contents(atPath: "\(folder)/\(path)"), file.count <= Self.fileBytesMax
            else { continue }
            left -= file.count
            missed.formUnion(Self.mentions(in: file).intersection(withheld))
        }
        return missed.sorted()
    }

    private static let start = Data("process.env".utf8)

    /// The names after `process.env.`, in `process.env['…']`, and in `const { A, B } = process.env`.
    package static func mentions(in code: Data) -> Set<String> {
        var names: Set<String> = []
        var rest = code[...]
        while let found = rest.range(of: start) {
            names.formUnion(taken(before: code[..<found.lowerBound]))
            rest = rest[found.upperBound...]
            var name = rest
            if name.first == UInt8(ascii: "?") { name = name.dropFirst() }
            if name.first == UInt8(ascii: ".") { name = name.dropFirst() }
            if name.first == UInt8(ascii: "[") { name = name.dropFirst() }
            if let quote = name.first, [UInt8(ascii: "'"), UInt8(ascii: "\""), UInt8(ascii: "`")].contains(quote) {
                name = name.dropFirst()
            }
            names.insert(String(decoding: name.prefix { $0 == UInt8(ascii: "_") || isAlphanumeric($0) }, as: UTF8.self))
        }
        return names.subtracting([""])
    }

    /// Maximum bytes of a pattern before `= process.env`.
    private static let patternBytesMax = 2000

    private static func taken(before code: Data) -> [String] {
        guard code.last(where: { $0 > UInt8(ascii: " ") }) == UInt8(ascii: "=") else { return [] }
        let text = String(decoding: code.suffix(patternBytesMax), as: UTF8.self)
        let pattern = text.reversed().drop(while: \.isWhitespace)
        guard pattern.first == "=" else { return [] }
        let braced = pattern.dropFirst().drop(while: \.isWhitespace)
        guard braced.first == "}" else { return [] }
        let inside = String(braced.dropFirst().prefix { $0 != "{" }.reversed())
        return inside.split(separator: ",").map { part in
            String(part.drop(while: \.isWhitespace).prefix { $0 == "_" || $0.isLetter || $0.isNumber })
        }
    }
}
