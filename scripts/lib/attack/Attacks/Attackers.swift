import NIOCore
import ParseProtocol
import SuiteClient

/// The attackers: connections from many addresses, and a tally of the answers.
struct Attackers: Sendable {
    let target: Target
    let addressCount: Int
    /// True when all addresses share one /24; false when each has its own. The suite's limits count both.
    let isOneNetwork: Bool
    let connections: Int
    let tally = AttackTally()
    let group: any EventLoopGroup

    /// Timeout of an attacker's request, if the attack lasts that long.
    private static let patience = Duration.seconds(60)
    private static let bodyBytesKept = 160
    /// Delay before an attacker retries a refused connection.
    private static let pauseUnconnected = Duration.milliseconds(50)

    func address(_ index: Int) -> String {
        let number = 1 + index % addressCount
        return isOneNetwork ? "127.1.1.\(number)" : "127.1.\(number).2"
    }

    /// Sends requests over all connections; each connection sends the next request once the last one was answered.
    /// - Parameter request: the bytes for a round of a connection.
    func hammer(
        until end: ContinuousClock.Instant, request: @escaping @Sendable (_ connection: Int, _ round: Int) -> ByteBuffer
    ) async {
        await each { index in
            var link: Link?
            var round = 0
            while ContinuousClock.now < end {
                do {
                    if link?.isOpen != true { link = try await open(index) }
                    guard let open = link else { continue }
                    try await exchange(over: open, request(index, round), until: end)
                    round += 1
                } catch {
                    link?.close()
                    link = nil
                    await missed(error, until: end)
                }
            }
            link?.close()
        }
    }

    /// Sends one request and waits for its answer.
    func exchange(over link: Link, _ bytes: ByteBuffer, until end: ContinuousClock.Instant) async throws {
        let left = min(end - .now, Self.patience)
        guard left > .zero else { return }
        let answer = try await link.send(bytes, timeout: left)
        tally.add(answer)
        if answer.closes { link.close() }
    }

    /// Counts a missing answer. Requests cut off by the end of the attack are not counted.
    func missed(_ error: any Error, until end: ContinuousClock.Instant) async {
        guard ContinuousClock.now < end else { return }
        switch error {
        case LinkError.closed: tally.add("closed")
        case LinkError.timeout: tally.add("timeout")
        default:
            tally.add("unreachable")
            try? await Task.sleep(for: Self.pauseUnconnected)
        }
    }

    func open(_ index: Int, pace: Link.QuotaKind = .quick, bodyBytesKept: Int = bodyBytesKept) async throws -> Link {
        try await Link.open(target, from: address(index), on: group, bodyBytesKept: bodyBytesKept, pace: pace)
    }

    /// Opens and connects a WebSocket for live queries. It is closed at the end of the attack.
    func live(_ index: Int, until end: ContinuousClock.Instant) async throws -> LiveLink {
        let link = try await LiveLink.open(target, from: address(index), on: group, messagesKept: 1)
        Task {
            try? await Task.sleep(until: end, clock: .continuous)
            link.close()
        }
        try await link.connect()
        return link
    }

    /// Runs `body` for all connections concurrently.
    func each(_ body: @escaping @Sendable (_ connection: Int) async -> Void) async {
        await withDiscardingTaskGroup { group in
            for index in 0..<connections { group.addTask { await body(index) } }
        }
    }

    /// Signs up an account, for attacks by signed-in users.
    /// - Returns: the session token; nil when the shop refuses.
    func account(_ index: Int) async -> String? {
        guard let link = try? await open(index, bodyBytesKept: 4096) else { return nil }
        defer { link.close() }
        let name = "\(Names.random(10).lowercased())@attackers.example"
        let body: JSON = ["username": .string(name), "password": .string(Names.random(12))]
        let answer = try? await link.send(Request.post("/users", body).bytes(for: target), timeout: .seconds(20))
        return answer?.json?["sessionToken"]?.stringValue
    }
}
