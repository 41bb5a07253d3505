import ParseProtocol
import Synchronization
import TestSupport
import Testing

/// Processes that are stopped during work, as at an update: clients notice nothing.
@Suite(.serialized) struct GracefulRestartTests {
    /// While customers browse and buy, each replica of the services that customers wait for is restarted twice, and
    /// each service with one replica once. No client gets an error or has to retry, and every answered checkout exists
    /// once.
    @Test(.timeLimit(.minutes(10))) func customersDoNotNoticeRestarts() async throws {
        let scale = ["catalog": 2, "bag": 2, "users": 2, "payments": 2]
        let text = scale.map { "\($0)=\($1)" }.sorted().joined(separator: ",")
        // Each customer orders more often than the mail limit for unverified addresses allows.
        let unbounded = ["SATCHEL_MAILS_PER_RECIPIENT": "0", "SATCHEL_MAILS_PER_USER": "0"]
        try await Suite.with(scale: text, settings: unbounded) { suite in
            try await suite.untilHealthy(replicas: scale)
            let names = (0..<6).map { "Item \($0) \(Names.random(4))" }
            let shelf = try await Shelf.fill(suite, names: names, stock: 1_000_000)
            let crowd = try await Crowd(suite, shelf: shelf, count: 10)
            // Alternates the replicas: the second restart of each meets the replica that became the writer at the
            // first.
            let shared = scale.keys.sorted().flatMap { ["\($0)-1", "\($0)-2"] }
            try await crowd.buyWhile {
                let single = ["mail-1", "push-1", "analytics-1", "crash-1", "cloud-1", "web-1"]
                for replica in shared + shared + single {
                    try await suite.restart(replica)
                    try await suite.untilHealthy(replicas: scale)
                    let before = crowd.checkouts
                    try await eventually("customers buy after the restart of \(replica)") {
                        crowd.checkouts >= before + 5
                    }
                }
            }
            #expect(crowd.repeated.isEmpty, "\(crowd.repeated.count) times: \(crowd.repeated.prefix(5))")
            try await crowd.verify()
        }
    }

    /// The switch that stops the clients' requests.
    private final class Traffic: Sendable {
        private let over = Mutex(false)
        var isOver: Bool { over.withLock(\.self) }
        func end() { over.withLock { $0 = true } }
    }

    /// Every acknowledged create exists once, with one replica, whose clients wait for its successor.
    @Test(.timeLimit(.minutes(10))) func aRestartOfTheOnlyReplicaLosesNoAnsweredWrite() async throws {
        try await Suite.with { suite in
            let traffic = Traffic()
            let className = "Note\(Names.random(8))"
            let master = ParseClient.master(suite)
            _ = try await master.create(className, ["number": 0])
            let made = try await withThrowingTaskGroup(of: [Int64].self) { group in
                for writer in [1, 2, 3, 4] as [Int64] {
                    group.addTask {
                        var mine: [Int64] = []
                        while !traffic.isOver, mine.count < 200 {
                            let number = writer * 1000 + Int64(mine.count)
                            let answer = try await master.create(className, ["number": .int(number)])
                            guard answer.status == 201 else { throw Unexpected("create", answer) }
                            mine.append(number)
                            // The pause makes the traffic last for both restarts.
                            try await Task.sleep(for: .milliseconds(50))
                        }
                        return mine
                    }
                }
                for _ in 0..<2 {
                    try await suite.restart("catalog-1")
                    try await suite.untilHealthy()
                }
                traffic.end()
                return try await group.reduce(into: []) { $0 += $1 }
            }
            let found = try await master.find(className, [:], ["limit": 1000, "order": "number"]).results
            #expect(found.compactMap { $0["number"]?.intValue } == [0] + made.sorted())
        }
    }
}
