import HTTPTypes
import NIOCore

/// The address of a request's client: the other end of the connection, unless that is a trusted proxy.
///
/// Every client can send `X-Forwarded-For`; therefore only the addresses that trusted proxies appended count. The
/// client's address is the last one of the header that is not a trusted proxy's. (CVE-2023-22474: a client's own header
/// satisfied the list of networks for the master key.)
enum ClientAddress {
    /// More hops than any sensible setup has; earlier ones are ignored.
    private static let hopsMax = 16
    private static let forwardedFor = headerName("X-Forwarded-For")

    /// - Parameters:
    ///   - headers: of the request.
    ///   - peer: the other end of the connection.
    /// - Returns: nil when a trusted proxy sends an invalid address; no list of networks contains nil.
    static func find(in headers: HTTPFields, from peer: SocketAddress?, proxies: [Network]) -> SocketAddress? {
        guard proxies.includesProxy(peer) else { return peer }
        var address = peer
        let hops = headers[values: forwardedFor].flatMap { $0.split(separator: ",", omittingEmptySubsequences: false) }
        for hop in hops.reversed().prefix(hopsMax) {
            guard let next = parse(hop) else { return nil }
            address = next
            guard proxies.contains(where: { $0.contains(next) }) else { break }
        }
        return address
    }

    /// `203.0.113.7`, `203.0.113.7:4711`, `2001:db8::1` or `[2001:db8::1]:4711`.
    private static func parse(_ hop: Substring) -> SocketAddress? {
        var text = hop.drop { $0 == " " }
        while text.last == " " { text.removeLast() }
        if text.first == "[" {
            text = text.dropFirst().prefix { $0 != "]" }
        } else if text.utf8.count(where: { $0 == UInt8(ascii: ":") }) == 1 {
            text = text.prefix { $0 != ":" }
        }
        guard !text.isEmpty, text.utf8.count <= 45 else { return nil }
        return try? SocketAddress(ipAddress: String(text), port: 0)
    }
}
