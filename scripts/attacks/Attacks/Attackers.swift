import NIOCore
import ParseProtocol
import SuiteClient

/// The attacking side: connections from many addresses, and what came back.
struct Attackers: Sendable {
    let target: Target
    /// The number of addresses they come from: 127.0.0.2 and the next ones.
    let addressCount: Int
    let connections: Int
    let tally = AttackTally()
    let group: any EventLoopGroup

    /// As long as an attacker waits for an answer, if the attack goes on that long.
    private static let patience = Duration.seconds(60)
    private static let bodyBytesKept = 160
    /// A server that refuses connections is tried again so often.
    private static let pauseUnconnected = Duration.milliseconds(50)

    func address(_ index: Int) -> String { "127.0.0.\(2 + index % addressCount)" }

    /// Sends requests over all connections, each of them the next one as soon as the last was answered.
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

    /// One request and its answer.
    func exchange(over link: Link, _ bytes: ByteBuffer, until end: ContinuousClock.Instant) async throws {
        let left = min(end - .now, Self.patience)
        guard left > .zero else { return }
        let answer = try await link.send(bytes, timeout: left)
        tally.add(answer)
        if answer.closes { link.close() }
    }

    /// Notes why nothing came. What the end of the attack cut off was not refused and is not noted.
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

    func open(_ index: Int, pace: Link.Pace = .quick, bodyBytesKept: Int = bodyBytesKept) async throws -> Link {
        try await Link.open(target, from: address(index), on: group, bodyBytesKept: bodyBytesKept, pace: pace)
    }

    /// Runs `body` for each connection at once.
    func each(_ body: @escaping @Sendable (_ connection: Int) async -> Void) async {
        await withDiscardingTaskGroup { group in
            for index in 0..<connections { group.addTask { await body(index) } }
        }
    }

    /// Signs an account up, for attacks from the inside.
    /// - Returns: the session token; nil when the shop would not.
    func account(_ index: Int) async -> String? {
        guard let link = try? await open(index, bodyBytesKept: 4096) else { return nil }
        defer { link.close() }
        let name = "\(Names.random(10).lowercased())@attackers.example"
        let body: JSON = ["username": .string(name), "password": .string(Names.random(12))]
        let answer = try? await link.send(Request.post("/users", body).bytes(for: target), timeout: .seconds(20))
        return answer?.json?["sessionToken"]?.stringValue
    }
}
