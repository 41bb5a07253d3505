import HTTPTypes
import NIOCore
import ParseProtocol

/// Who may read `GET /metrics`: with `SATCHEL_METRICS_TOKEN` only holders of the token; without it only programs on the
/// gateway's host that connect directly.
struct MetricsAccess: Sendable {
    let token: String?

    private static let loopback = ["127.0.0.0/8", "::1"].compactMap { try? Network($0) }
    /// Headers of requests that only pass through a program on this host: of proxies, and of browsers for other sites.
    private static let foreign = [
        "Forwarded", "Via", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-IP", "Origin",
    ].map(headerName)

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
        guard !Self.foreign.contains(where: { headers[$0] != nil }), Self.isOnHost(request.clientAddress) else {
            let error = ParseError(
                .operationForbidden, "Metrics for other hosts, or through a proxy, need SATCHEL_METRICS_TOKEN.")
            return ParseResponse(status: 403, error.body)
        }
        return nil
    }

    private static func isOnHost(_ address: SocketAddress?) -> Bool {
        if case .unixDomainSocket = address { return true }
        return loopback.contains { $0.contains(address) }
    }
}
