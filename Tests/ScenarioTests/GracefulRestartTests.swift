import ParseProtocol
import Synchronization
import TestSupport
import Testing

/// Processes that are told to stop, as at an update, while they are at work: nobody notices.
@Suite(.serialized) struct GracefulRestartTests {
    /// Every replica of what customers wait for is restarted twice, and each service that has one replica once, while
    /// customers browse and buy: nobody is told of an error, nobody has to ask again, and every answered checkout is
    /// there once.
    @Test(.timeLimit(.minutes(10))) func customersDoNotNoticeRestarts() async throws {
        let scale = ["catalog": 2, "bag": 2, "users": 2, "payments": 2]
        let text = scale.map { "\($0)=\($1)" }.sorted().joined(separator: ",")
        // Each customer buys more often than an address that is not verified is written to.
        let unbounded = ["SATCHEL_MAILS_PER_RECIPIENT": "0", "SATCHEL_MAILS_PER_USER": "0"]
        try await Suite.with(scale: text, settings: unbounded) { suite in
            try await suite.untilHealthy(replicas: scale)
            let names = (0..<6).map { "Item \($0) \(Names.random(4))" }
            let shelf = try await Shelf.fill(suite, names: names, stock: 1_000_000)
            let crowd = try await Crowd(suite, shelf: shelf, count: 10)
            // Both in turn: the second restart of each meets the replica that became the writer at the first.
            let shared = scale.keys.sorted().flatMap { ["\($0)-1", "\($0)-2"] }
            try await crowd.buyWhile {
                for replica in shared + shared + ["mail-1", "push-1", "analytics-1", "crash-1", "cloud-1"] {
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

    /// The switch that ends the clients' traffic.
    private final class Traffic: Sendable {
        private let over = Mutex(false)
        var isOver: Bool { over.withLock(\.self) }
        func end() { over.withLock { $0 = true } }
    }

    /// Every create that was answered is there once, with one replica, whose clients wait for the process that comes
    /// after it.
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
                            // So slowly that it lasts for both restarts.
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
