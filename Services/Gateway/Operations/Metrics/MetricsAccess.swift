import HTTPTypes
import NIOCore
import ParseProtocol

/// Who may read `GET /metrics`: with `SATCHEL_METRICS_TOKEN` only holders of the token; without it only programs on the
/// gateway's host that connect directly, over TCP. A proxy on the host that adds no header is not recognised.
struct MetricsAccess: Sendable {
    let token: String?

    private static let loopback = ["127.0.0.0/8", "::1"].compactMap { try? Network($0) }
    /// Headers of requests that only pass through a program on this host: of proxies, and of browsers for other sites.
    private static let foreign: Set = [
        "forwarded", "via", "x-real-ip", "x-client-ip", "true-client-ip", "cf-connecting-ip", "origin",
    ]

    /// The response to a client that may not read the metrics; nil for one that may.
    func refusal(_ request: ParseRequest) -> ParseResponse? {
        let headers = request.headers
        if let token {
            let parts = (headers[.authorization] ?? "").split(separator: " ", maxSplits: 1)
            if parts.count == 2, parts[0].lowercased() == "bearer",
                GatewayConfiguration.isSame(String(parts[1]), token)
            {
                return nil
            }
            let error = ParseError(.operationForbidden, "Metrics need the token of SATCHEL_METRICS_TOKEN.")
            var response = ParseResponse(status: 401, error.body)
            response.headers[.wwwAuthenticate] = "Bearer"
            return response
        }
        guard !headers.contains(where: { Self.isForeign($0.name.canonicalName) }),
            Self.loopback.contains(where: { $0.contains(request.clientAddress) }), Self.isLoopback(request.host)
        else {
            let error = ParseError(
                .operationForbidden, "Metrics for other hosts, or through a proxy, need SATCHEL_METRICS_TOKEN.")
            return ParseResponse(status: 403, error.body)
        }
        return nil
    }

    private static func isForeign(_ name: String) -> Bool { foreign.contains(name) || name.hasPrefix("x-forwarded") }

    /// Whether the client named this host by its loopback address. A page in a browser may have a domain that leads
    /// here, and a proxy passes the client's name on.
    private static func isLoopback(_ host: String?) -> Bool {
        guard let host else { return false }
        let name = String(host.hasPrefix("[") ? host.dropFirst().prefix { $0 != "]" } : host.prefix { $0 != ":" })
        guard name.lowercased() != "localhost" else { return true }
        return loopback.contains { $0.contains(try? SocketAddress(ipAddress: name, port: 0)) }
    }
}
