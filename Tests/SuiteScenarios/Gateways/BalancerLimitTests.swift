import ParseProtocol
import TestSupport
import Testing

/// Connections that send half a request head to the balancer of several gateways. Id T7g of
/// docs/internals/hardening.md.
@Suite(.serialized, .timeLimit(.minutes(5))) struct BalancerLimitTests {
    private static let halfHead = Array("GET /parse/health HTTP/1.1\r\nHost: x\r\nX-Slow: ".utf8)

    @Test func halfSentHeadsOfOneNetworkKeepNobodyOutAndEnd() async throws {
        // Limits at the balancer: 64 connections, 16 per address, 48 per /24.
        let settings = ["SATCHEL_CONNECTIONS_MAX": "32", "SATCHEL_SLOW_REQUEST_SECONDS": "5"]
        try await Suite.with(scale: "gateway=2", settings: settings) { suite in
            // The balancer may close a connection before the test's connect() returns.
            let crowd = (0..<5).flatMap { address in
                (0..<20).map { _ in try? RawConnection(suite, from: "127.5.0.\(address + 1)") }
            }
            for connection in crowd { connection?.send(Self.halfHead) }
            for _ in 0..<5 {
                let honest = try RawConnection(suite, from: "127.9.0.1")
                honest.send(head: "GET /parse/health HTTP/1.1\nHost: x")
                let answer = honest.read(within: 2000) ?? "nothing"
                #expect(answer.hasPrefix("HTTP/1.1 200"), "\(answer)")
            }
            let said = crowd.map { $0.map { $0.read(within: 8000) ?? "open" } ?? "" }
            #expect(said.count { $0.isEmpty } >= 52, "More than the network may have were refused.")
            #expect(said.count { $0.hasPrefix("HTTP/1.1 408") } > 40, "\(said)")
            #expect(!said.contains("open"))
        }
    }
}
