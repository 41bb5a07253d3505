import ParseProtocol

/// What a page that the gateway may keep depends on, besides objects: the path, the parameters that such pages have,
/// and the languages. `web` gets nothing else of the request, so that no other part of it is in a cached page.
package struct PageAddress: Sendable {
    /// Decoded components.
    package let path: [Substring]
    package let query: [String: String]
    /// The languages of an `Accept-Language` by preference, without regions and weights: `de,en`.
    package let languages: String

    /// The first components of these paths, besides `/`.
    private static let folders: Set<Substring> = ["brands", "pages", "products", "promotions", "search", "stores"]
    private static let starts = ["/?"] + folders.sorted().map { "/\($0)" }
    /// All parameters of these pages. `web` never sees another one, such as `utm_source`.
    private static let parameters = [
        "latitude", "letter", "longitude", "max", "min", "p", "page", "q", "sort", "stock", "view",
    ]
    private static let languagesMax = 8
    /// Longer addresses are rendered and not cached.
    private static let bytesMax = 2 << 10

    /// - Parameters:
    ///   - path: decoded components.
    ///   - query: the raw query string.
    ///   - languages: the `Accept-Language`.
    /// - Returns: nil for every other page.
    /// - Throws: `.invalidJSON` (107) for a query that cannot be decoded.
    package init?(path: [Substring], query: String?, languages: String?) throws(ParseError) {
        // A product has further pages below it, which are a shopper's own.
        guard path.count <= 2, path.first.map(Self.folders.contains) ?? true else { return nil }
        self.path = path
        var pairs: [String: String] = [:]
        if let query { pairs = try ParseRequest.pairs(Substring(query).utf8) }
        self.query = pairs.filter { Self.parameters.contains($0.key) }
        self.languages = Self.languages(languages ?? "")
    }

    /// Whether a target may be one of these pages. Quick, because every request of an event loop is asked.
    static func mayBegin(_ target: String) -> Bool {
        target.utf8.count == 1 || starts.contains { target.utf8.starts(with: $0.utf8) }
    }

    /// The key of the page, byte for byte; nil for an address that is too long. A byte that is no UTF-8 separates the
    /// parts, so that no two addresses have the same key.
    /// - Parameter edition: of the processes that render pages.
    package func key(_ edition: Int) -> [UInt8]? {
        var bytes = Array("\(edition) \(languages)".utf8)
        for component in path {
            bytes.append(Self.separator)
            bytes += component.utf8
        }
        bytes.append(Self.end)
        for name in Self.parameters {
            guard let value = query[name] else { continue }
            bytes.append(Self.separator)
            bytes += name.utf8
            bytes.append(Self.separator)
            bytes += value.utf8
        }
        return bytes.count <= Self.bytesMax ? bytes : nil
    }

    private static let separator: UInt8 = 0xFF
    private static let end: UInt8 = 0xFE

    /// Browsers sort languages by preference, so weights say nothing more.
    private static func languages(_ header: String) -> String {
        var found: [String] = []
        for part in header.utf8.split(separator: UInt8(ascii: ",")).prefix(64) where found.count < languagesMax {
            let name = part.drop { $0 == UInt8(ascii: " ") }.prefix { isLetter($0) }
            guard (2...3).contains(name.count) else { continue }
            let language = String(Substring(name)).lowercased()
            if !found.contains(language) { found.append(language) }
        }
        return found.joined(separator: ",")
    }

    private static func isLetter(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
    }
}

/// The processes of `web`, which render pages. A page of an earlier set of them, which may be another release, is not
/// served.
package struct PageRenderers: Sendable {
    private var replicas: [String] = []
    /// Counts the sets. While there is no process, cached pages are still served.
    package private(set) var edition = 0

    package init() {}

    package mutating func changed(to replicas: [String]) {
        if replicas != self.replicas, !replicas.isEmpty { edition += 1 }
        self.replicas = replicas
    }
}
