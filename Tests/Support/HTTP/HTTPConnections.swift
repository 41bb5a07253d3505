import NIOCore
import NIOHTTP1

/// The connections of this process's clients: HTTP/1.1, kept open and used again.
///
/// A request goes out as it was given and an answer is shown as it came: nothing is repeated, followed, unpacked or
/// added, so that tests see what the server does and not what a library makes of it.
actor HTTPConnections {
    private struct Host {
        /// And the times since when they are.
        var idle: [(connection: HTTPConnection, since: ContinuousClock.Instant)] = []
        /// Requests that have a connection or open one.
        var busy = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private static let shared = HTTPConnections()
    /// Every client of a scenario has a connection of its own, as devices have.
    private static let perHostMax = 128
    /// A server that was just started or ended may not listen yet.
    private static let patience = Duration.seconds(5)
    /// Well below the time after which the gateway closes a connection: one that it closes just now takes no request.
    private static let idleMax = Duration.seconds(20)

    private var hosts: [SocketAddress: Host] = [:]

    /// Sends a request and returns its answer, whatever the status.
    /// - Parameter timeout: until the answer is whole.
    /// - Throws: as `HTTPConnection.send` does, and when nobody has listened for five seconds.
    static func send(
        _ method: HTTPMethod, _ url: String, headers: HTTPHeaders = [:], body: [UInt8] = [],
        timeout: TimeAmount = .seconds(30)
    ) async throws -> HTTPAnswer {
        let request = try HTTPRequest(method, url, headers: headers, body: body)
        return try await shared.send(request, deadline: .now() + timeout)
    }

    private func send(_ request: HTTPRequest, deadline: NIODeadline) async throws -> HTTPAnswer {
        await enter(request.address)
        defer { leave(request.address) }
        let connection = try await connection(to: request.address)
        let answer = try await connection.send(request, deadline: deadline)
        if !answer.isLast { hosts[request.address]?.idle.append((connection, .now)) }
        return answer
    }

    /// Waits for a place; no longer than requests take, each of which has a deadline.
    private func enter(_ address: SocketAddress) async {
        guard hosts[address, default: Host()].busy >= Self.perHostMax else {
            hosts[address, default: Host()].busy += 1
            return
        }
        await withCheckedContinuation { hosts[address]?.waiting.append($0) }
    }

    /// Passes the place on to whoever waited longest.
    private func leave(_ address: SocketAddress) {
        if hosts[address]?.waiting.isEmpty == false {
            hosts[address]?.waiting.removeFirst().resume()
        } else {
            hosts[address]?.busy -= 1
        }
    }

    private func connection(to address: SocketAddress) async throws -> HTTPConnection {
        while let kept = hosts[address]?.idle.popLast() {
            if kept.connection.isOpen, .now - kept.since < Self.idleMax { return kept.connection }
            kept.connection.close()
        }
        let end = ContinuousClock.now + Self.patience
        while true {
            try Task.checkCancellation()
            do {
                return try await HTTPConnection.open(to: address)
            } catch _ where ContinuousClock.now < end {
                try await Task.sleep(for: .milliseconds(100))
            }
        }
    }
}
