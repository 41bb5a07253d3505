import ParseProtocol
import TestSupport
import Testing

/// Scenarios that change the suite itself. They run one after the other, each with its own suite.
@Suite(.serialized) struct SuiteOfItsOwnTests {
    /// The shopper's flow with several replicas: every replica gives the same answers.
    @Test(.timeLimit(.minutes(10)))
    func theSameFlowWithReplicas() async throws {
        try await Suite.with(scale: "catalog=2,bag=2,users=2") { suite in
            try await suite.untilHealthy(replicas: ["catalog": 2, "bag": 2, "users": 2])
            try await ShopperTests.twoCustomers(in: suite)
            try await SessionTests.logoutRevokesAtOnce(in: suite)
        }
    }

    /// Every process is killed in turn while 20 customers browse and buy. Reads continue. Every answered checkout is in
    /// the history exactly once, no number is used twice, no customer is charged twice, and stock, mail and sales add
    /// up.
    @Test(.timeLimit(.minutes(10)))
    func everyProcessCanBeKilledWhileCustomersBuy() async throws {
        let scale = ["catalog": 2, "bag": 2, "users": 2, "payments": 2]
        let text = scale.map { "\($0)=\($1)" }.sorted().joined(separator: ",")
        // Each customer orders more often than the mail limit for unverified addresses allows.
        let unbounded = ["SATCHEL_MAILS_PER_RECIPIENT": "0", "SATCHEL_MAILS_PER_USER": "0"]
        try await Suite.with(scale: text, settings: unbounded) { suite in
            let names = (0..<12).map { "Item \($0) \(Names.random(4))" }
            let shelf = try await Shelf.fill(suite, names: names, stock: 1_000_000)
            let crowd = try await Crowd(suite, shelf: shelf, count: 20)
            // Both replicas of a service in turn, so that one of them is the writer. The gateway comes last, because it
            // has no second instance.
            let others = [
                "catalog-1", "catalog-2", "bag-1", "bag-2", "users-1", "users-2", "payments-1", "payments-2", "mail-1",
                "push-1", "analytics-1", "crash-1", "cloud-1", "web-1",
            ]
            try await crowd.buyWhile {
                for replica in others + others + ["gateway-1", "gateway-1"] {
                    if replica == "gateway-1" { crowd.gatewayMayFail() }
                    try await suite.kill(replica)
                    try await suite.untilHealthy(replicas: scale)
                    let before = crowd.checkouts
                    try await eventually("customers buy after the death of \(replica)", within: .seconds(30)) {
                        crowd.checkouts >= before + 10
                    }
                }
            }
            for service in scale.keys {
                let lines = suite.logTails(lines: 1000) {
                    $0.contains("This process is the writer.") && $0.contains("service=\(service)")
                }.split(separator: "\n")
                #expect(lines.filter { !$0.hasPrefix("---") }.count >= 2, "A writer of \(service) was killed.")
            }
            try await crowd.verify()
        }
    }
}
