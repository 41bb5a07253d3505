import BagService
import Logging
import ObjectStore
import ParseProtocol
import ServiceKit
import TestSupport
import Testing

/// Two processes drive checkouts of one database: at any time, one of them holds the lease of a checkout.
@Suite struct CheckoutLeasesTests {
    /// One of the processes.
    private struct Driver {
        let catalog: CheckoutLedgerTests.Catalog
        let background = BackgroundGroup()
        let runner: CheckoutRunner

        init(_ bag: BagStore, turn: Duration, _ catalog: CheckoutLedgerTests.Catalog = .init()) {
            var logger = Logger(label: "test")
            logger.logLevel = .critical
            self.catalog = catalog
            let ledger = CheckoutLedger(
                store: bag.store, outbox: bag.events, leases: CheckoutLeases(length: turn))
            runner = CheckoutRunner(ledger: ledger, steps: catalog, background: background, logger: logger)
        }

        /// Whether payments got a charge request.
        func hasCharged(_ id: String) -> Bool { catalog.seen.withLock { $0.charges[id] != nil } }
    }

    private static func started(_ bag: BagStore) async throws -> String {
        _ = try await bag.bag(of: "u1")
        return try await bag.start(by: "u1")
    }

    private static func until(_ condition: () -> Bool) async throws {
        try await eventually("it happens", condition)
    }

    /// When the lease of the only checkout ends, in milliseconds.
    private static func leaseEnd(_ bag: BagStore) async throws -> Int64 {
        try await bag.store.read { try $0.rows("SELECT drivenUntil FROM checkouts", [])[0].int(0) }
    }

    @Test(.timeLimit(.minutes(5))) func aLeasedCheckoutIsOnlyObserved() async throws {
        let bag = try await BagStore()
        let id = try await Self.started(bag)
        // Several times longer than this process may stand still.
        let turn = Duration.seconds(8)
        let one = Driver(bag, turn: turn, .init(lost: .max))
        let other = Driver(bag, turn: turn)
        let outcome = Task { await one.runner.outcome(of: id, within: .seconds(120)) }
        try await Self.until { one.hasCharged(id) }
        // Renewed for two more lease periods.
        let end = try await Self.leaseEnd(bag) + Int64(turn * 2 / .milliseconds(1))
        while try await Self.leaseEnd(bag) < end {
            try Task.checkCancellation()
            let seen = await other.runner.outcome(of: id, within: .milliseconds(500))
            try #require(seen == nil)
            try #require(!other.hasCharged(id))
        }
        one.catalog.seen.withLock { $0.lost = 0 }
        let receipt = try await #require(outcome.value).get()
        #expect(try await #require(other.runner.outcome(of: id, within: .seconds(20))).get() == receipt)
        #expect(!other.hasCharged(id))
    }

    @Test(.timeLimit(.minutes(5))) func aDeadDriversLeaseIsWaitedFor() async throws {
        let bag = try await BagStore()
        let id = try await Self.started(bag)
        let turn = CheckoutLeases(driver: "gone", length: .seconds(30))
        #expect(try await bag.store.write { try turn.take(id, in: $0) })
        let other = Driver(bag, turn: .seconds(60))
        #expect(await other.runner.outcome(of: id, within: .milliseconds(300)) == nil)
        #expect(!other.hasCharged(id))
        // Simulates that the lease's time has passed.
        try await bag.store.write { _ = try $0.execute("UPDATE checkouts SET drivenUntil = drivenUntil - 30000") }
        _ = try await #require(other.runner.outcome(of: id, within: .seconds(20))).get()
        #expect(other.hasCharged(id))
    }

    /// A stopped process releases its lease, so no process waits for it.
    @Test(.timeLimit(.minutes(5))) func aStoppedDriverReleasesItsLease() async throws {
        let bag = try await BagStore()
        let id = try await Self.started(bag)
        let one = Driver(bag, turn: .seconds(600), .init(lost: .max))
        let outcome = Task { await one.runner.outcome(of: id, within: .seconds(30)) }
        try await Self.until { one.hasCharged(id) }
        await one.background.stop(within: .seconds(60))
        #expect(await outcome.value == nil)
        let other = Driver(bag, turn: .seconds(5))
        _ = try await #require(other.runner.outcome(of: id, within: .seconds(20))).get()
    }

    /// Two processes that drive the same checkout anyway create one order.
    @Test(.timeLimit(.minutes(5))) func twoAtOnceMakeOneOrder() async throws {
        let bag = try await BagStore()
        let id = try await Self.started(bag)
        // With leases that expire before any work is done, every process takes every checkout.
        let drivers = (0..<3).map { _ in Driver(bag, turn: .milliseconds(20)) }
        let outcomes = await withTaskGroup(of: CheckoutOutcome?.self) { group in
            for driver in drivers { group.addTask { await driver.runner.outcome(of: id, within: .seconds(30)) } }
            return await group.reduce(into: []) { $0.append($1) }
        }
        let receipts = try outcomes.map { try #require($0).get() }
        #expect(Set(receipts).count == 1)
        let made = try await bag.store.read { try $0.rows("SELECT id FROM checkouts WHERE state = 'made'", []).count }
        #expect(made == 1)
    }
}
