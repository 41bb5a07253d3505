/// The request for a proxy connection: `CONNECT host:port HTTP/1.1` and an empty line (RFC 9110, section 9.3.6).
/// Headers are ignored. No I/O.
package struct ProxyHead: Sendable {
    /// The parser's state after more bytes.
    package enum Outcome: Equatable, Sendable {
        case incomplete
        case connect(AllowedHosts.Destination)
        /// The request is invalid, or the client sent data before the response.
        case malformed
    }

    /// Maximum bytes of the head; a name has at most 253.
    package static var bytesMax: Int { 4096 }
    private var bytes: [UInt8] = []

    package init() {}

    package mutating func take(_ more: some Sequence<UInt8>) -> Outcome {
        bytes += more
        guard bytes.count <= Self.bytesMax else { return .malformed }
        guard let end = Self.end(of: bytes) else { return .incomplete }
        guard end == bytes.count else { return .malformed }
        let line = String(decoding: bytes.prefix { $0 != UInt8(ascii: "\r") }, as: UTF8.self)
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        guard words.count == 3, words[0] == "CONNECT", words[2].hasPrefix("HTTP/1."),
            let (host, port) = AllowedHosts.split(String(words[1])), let port,
            let destination = AllowedHosts.Destination(host, port)
        else { return .malformed }
        return .connect(destination)
    }

    /// The index after the empty line.
    private static func end(of bytes: [UInt8]) -> Int? {
        let mark = Array("\r\n\r\n".utf8)
        guard bytes.count >= mark.count else { return nil }
        return (mark.count...bytes.count).first { bytes[($0 - mark.count)..<$0] == mark[...] }
    }
}
