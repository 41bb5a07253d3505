import Foundation

/// A URL that a mail may link to: `http` or `https` with a host, in plain ASCII. Anything else (`javascript:`, a line
/// break, a quotation mark) is refused.
struct WebLink {
    let url: String

    private static let bytesMax = 4096

    init?(_ url: String) {
        guard url.utf8.count <= Self.bytesMax, url.utf8.allSatisfy(Self.isPlain),
            let parts = URLComponents(string: url),
            let scheme = parts.scheme?.lowercased(), scheme == "http" || scheme == "https",
            let host = parts.host, !host.isEmpty, parts.user == nil, parts.password == nil
        else { return nil }
        self.url = url
    }

    /// Printable, and not a character that RFC 3986 excludes from URLs because it delimits them in text.
    private static func isPlain(_ byte: UInt8) -> Bool {
        (0x21...0x7E).contains(byte) && !"\"<>\\^`{|}".utf8.contains(byte)
    }
}
