import Foundation
import NIOCore
import ParseProtocol
import SuiteClient

/// A shopper's phone: one connection from its own address, a session, an installation id, and cookies.
struct Device: Sendable {
    let target: Target
    let address: String
    let group: any EventLoopGroup
    let installationId = UUID().uuidString.lowercased()
    var sessionToken: String?
    private var cookies: [String: String] = [:]
    private var link: Link?

    /// The timeout of an app.
    private static let timeout = Duration.seconds(30)
    private static let bodyBytesKept = 256 << 10
    /// A longer Retry-After is reduced, because the run is short.
    private static let retryAfterSecondsMax = 5

    init(_ target: Target, from address: String, on group: any EventLoopGroup) {
        (self.target, self.address, self.group) = (target, address, group)
    }

    /// Sends a request and repeats it after every 429.
    /// - Returns: the answer on success; any other answer is recorded as an error in `record`.
    mutating func ask(
        _ request: Request, _ kind: ShopperRecord.Kind = .ordinary, until end: ContinuousClock.Instant,
        into record: ShopperRecord
    ) async -> JSON? {
        var request = request
        request.headers["X-Parse-Installation-Id"] = installationId
        if let sessionToken { request.headers["X-Parse-Session-Token"] = sessionToken }
        if !cookies.isEmpty {
            request.headers["Cookie"] = cookies.sorted { $0.key < $1.key }.map { "\($0)=\($1)" }.joined(separator: "; ")
        }
        let bytes = request.bytes(for: target)
        let name = "\(request.method) \(request.path.split(separator: "/").prefix(2).joined(separator: "/"))"
        while ContinuousClock.now < end {
            let start = ContinuousClock.now
            do {
                let answer = try await send(bytes)
                let time = ContinuousClock.now - start
                if answer.status == 429 {
                    record.delayed()
                    let seconds = min(answer.retryAfterSeconds ?? 1, Self.retryAfterSecondsMax)
                    try? await Task.sleep(for: .seconds(seconds))
                    continue
                }
                guard (200..<300).contains(answer.status), let json = answer.json else {
                    record.failed(kind, after: time, "\(name): \(answer.status) \(answer.text.prefix(200))")
                    return nil
                }
                record.answered(kind, after: time)
                return json
            } catch {
                link = nil
                record.failed(kind, after: ContinuousClock.now - start, "\(name): \(error)")
                return nil
            }
        }
        return nil
    }

    private mutating func send(_ bytes: ByteBuffer) async throws -> Answer {
        let answer: Answer
        if let link, link.isOpen {
            do {
                answer = try await link.send(bytes, timeout: Self.timeout)
            } catch LinkError.closed {
                // A server may close an idle connection just when it is reused, so the client retries once, as every
                // client does.
                answer = try await connected().send(bytes, timeout: Self.timeout)
            }
        } else {
            answer = try await connected().send(bytes, timeout: Self.timeout)
        }
        for cookie in answer.cookies {
            let parts = cookie.split(separator: "=", maxSplits: 1).map(String.init)
            if parts.count == 2 { cookies[parts[0]] = parts[1] }
        }
        if answer.closes { link = nil }
        return answer
    }

    private mutating func connected() async throws -> Link {
        let new = try await Link.open(target, from: address, on: group, bodyBytesKept: Self.bodyBytesKept)
        link = new
        return new
    }
}
