import Foundation
import NIOHTTP1
import ParseProtocol
import Synchronization
import TestSupport

/// A suite in which tests choose their client addresses, with objects on which a backtracking pattern is slow.
struct CostlyRequests {
    let suite: Suite
    /// An object that is fast to read.
    let quickId: String

    static var shared: CostlyRequests { get async throws { try await start.value } }
    private static let start = Task<CostlyRequests, any Error> {
        // The read cache is off, so that repeated queries cost as much as the first one.
        let suite = try await Suite.start(
            settings: ["SATCHEL_TRUSTED_PROXIES": "127.0.0.0/8", "SATCHEL_READ_CACHE": "off"])
        let master = ParseClient.master(suite)
        let rows = (0..<150).map { index -> JSON in
            let body: JSON = ["text": .string(slowText), "n": .int(Int64(index))]
            return ["method": "POST", "path": "/parse/classes/Slow", "body": body]
        }
        let made = try await master.call(.POST, "/batch", ["requests": .array(rows)])
        let quick = try await master.create("Quick", ["name": "one"])
        guard made.status == 200, quick.status == 201 else {
            throw NeverHappened("The objects could not be made: \(made.text.prefix(200)) \(quick.text)")
        }
        return CostlyRequests(suite: suite, quickId: quick.objectId)
    }

    static let slowText = String(repeating: "a", count: 64) + "b!"

    /// Patterns that reach their step limit on each row.
    /// - Parameter shape: queries with different numbers are different queries.
    static func slow(_ field: String = "text", patterns: Int = 40, shape: Int = 0) -> JSON {
        let pattern: JSON = .object([field: ["$regex": "^(a|aa)+b$"]])
        let other: JSON = .object(["n\(shape)": ["$exists": true]])
        return ["$or": .array(Array(repeating: pattern, count: patterns) + [other])]
    }

    /// A client in a separate /24 network.
    func visitor(_ number: Int) -> Visitor {
        Visitor(client: ParseClient(suite), address: "100.\(64 + number / 250).\(number % 250 + 1).1")
    }

    struct Visitor: Sendable {
        var client: ParseClient
        let address: String

        func send(_ method: HTTPMethod, _ path: String, _ body: JSON? = nil) async throws -> ParseClient.Answer {
            try await client.send(
                method, path,
                headers: client.credentials + [("X-Forwarded-For", address), ("Content-Type", "application/json")],
                body: body?.serialized)
        }

        func find(_ path: String, _ options: [String: JSON]) async throws -> ParseClient.Answer {
            try await send(.POST, path, .object(options.merging(["_method": "GET"]) { $1 }))
        }
    }

    /// The sorted times of a probe in milliseconds, without stalls of the machine, and its failures.
    struct Times: CustomStringConvertible {
        var sorted: [Double]
        var failures: [String]
        /// By nearest rank: of 20 probes, the slowest is above the 95th.
        func percentile(_ percent: Int) -> Double {
            sorted.isEmpty ? 0 : sorted[max(1, (sorted.count * percent + 99) / 100) - 1]
        }
        var description: String {
            "\(sorted.count) probes, p50 \(Int(percentile(50))) ms, p95 \(Int(percentile(95))) ms, "
                + "p99 \(Int(percentile(99))) ms, "
                + "slowest \(Int(sorted.last ?? 0)) ms, \(failures.count) failures \(failures.prefix(3))"
        }
    }

    /// Runs `probe` during the whole attack, at least 20 times.
    /// - Parameter probe: returns the problem, or nil.
    static func times(
        of probe: @escaping @Sendable () async throws -> String?,
        during attack: @escaping @Sendable () async throws -> Void
    ) async throws -> Times {
        let isOver = Flag()
        let attacking = Task {
            defer { isOver.raise() }
            try await attack()
        }
        try await Task.sleep(for: .milliseconds(300))
        var times = Times(sorted: [], failures: [])
        while !isOver.isRaised || times.sorted.count < 20 {
            let meter = StallMeter()
            if let failure = try await probe() { times.failures.append(failure) }
            times.sorted.append(meter.elapsed / .milliseconds(1))
            try await Task.sleep(for: .milliseconds(20))
        }
        times.sorted.sort()
        try await attacking.value
        return times
    }
}

/// Tells concurrent tasks that a test has ended its measurement.
final class Flag: Sendable {
    private let value = Atomic(false)
    var isRaised: Bool { value.load(ordering: .relaxed) }
    func raise() { value.store(true, ordering: .relaxed) }
}
