import NIOCore
import NIOHTTP1

/// The HTTP/1.1 connection pool of this process's clients.
///
/// It changes neither requests nor answers: no retries, redirects, decompression or added headers. Tests therefore see
/// the server's behaviour without a library's changes.
actor HTTPConnections {
    private struct Host {
        /// The idle connections, each with the time since which it is idle.
        var idle: [(connection: HTTPConnection, since: ContinuousClock.Instant)] = []
        /// Requests that have a connection or open one.
        var busy = 0
        var waiting: [CheckedContinuation<Void, Never>] = []
    }

    private static let shared = HTTPConnections()
    /// High enough that every client of a scenario has its own connection, as devices do.
    private static let perHostMax = 128
    /// How long connecting is retried: a server that was just started or stopped may not listen yet.
    private static let patience = Duration.seconds(5)
    /// Well below the gateway's idle timeout: a connection that the gateway closes at this moment takes no request.
    private static let idleMax = Duration.seconds(20)

    private var hosts: [SocketAddress: Host] = [:]

    /// Sends a request and returns its answer, whatever the status.
    /// - Parameter timeout: limit until the answer is complete.
    /// - Throws: the errors of `HTTPConnection.send`, and an error when nothing listens for five seconds.
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

    /// Waits for a slot. The wait is bounded, because each request that holds a slot has a deadline.
    private func enter(_ address: SocketAddress) async {
        guard hosts[address, default: Host()].busy >= Self.perHostMax else {
            hosts[address, default: Host()].busy += 1
            return
        }
        await withCheckedContinuation { hosts[address]?.waiting.append($0) }
    }

    /// Gives the slot to the task that waited longest.
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
