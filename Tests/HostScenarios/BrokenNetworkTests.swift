import ParseProtocol
import TestSupport
import Testing

/// A gateway and services on several hosts, and a network that fails: no request exceeds its deadline, nothing runs
/// twice, and repeatable requests are repeated when the connection is known to be broken.
@Suite(.serialized, .timeLimit(.minutes(10))) struct BrokenNetworkTests {
    /// The deadlines of reads and writes (`ServiceClient`), plus a margin for a busy machine.
    private static let readDeadline = Duration.seconds(12)
    private static let writeDeadline = Duration.seconds(33)

    /// Runs `body` and then repairs the network.
    private func onHosts(_ body: (HostSuite, Suite) async throws -> Void) async throws {
        let hosts = try await Hosts.shared
        do {
            try await body(hosts, try hosts.seen())
        } catch {
            try await hosts.network.heal()
            throw error
        }
        try await hosts.network.heal()
        try await hosts.untilHealthy()
    }

    /// Runs `body` while two clients create objects and four read one. Each client waits for its answers.
    private func underTraffic(
        _ suite: Suite, _ className: String, _ body: (_ reads: Traffic, _ writes: Traffic) async throws -> Void
    ) async throws {
        let (reads, writes) = (Traffic(), Traffic())
        let first = try await ParseClient.master(suite).create(className, ["number": 0])
        guard first.status == 201 else { throw Unexpected("POST \(className)", first) }
        try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
                try await reads.run(clients: 4) { _ in
                    try await ParseClient(suite).get("/classes/\(className)/\(first.objectId)")
                }
            }
            group.addTask {
                try await writes.run(clients: 2) { number in
                    try await ParseClient.master(suite).create(className, ["number": .int(number)])
                }
            }
            defer {
                reads.stop()
                writes.stop()
            }
            try await reads.untilAnswered()
            try await writes.untilAnswered()
            try await body(reads, writes)
            reads.stop()
            writes.stop()
            try await group.waitForAll()
        }
    }

    /// Every object whose creation was acknowledged by now exists exactly once.
    private func verifyOnce(_ suite: Suite, _ className: String, _ writes: Traffic) async throws {
        let acknowledged = Set(writes.attempts.filter { $0.answer.status == 201 }.map(\.number))
        let found = try await ParseClient.master(suite).find(className, [:], ["limit": 100_000, "keys": "number"])
        #expect(found.status == 200, "\(found.text.prefix(300))")
        let numbers = found.results.compactMap { $0["number"]?.intValue }
        #expect(numbers.count == Set(numbers).count)
        #expect(acknowledged.subtracting(numbers).isEmpty)
    }

    @Test func aPurchaseGoesAcrossHosts() async throws {
        try await onHosts { _, suite in
            let shelf = try await Shelf.fill(suite, names: ["Far \(Names.random(4))"], stock: 5)
            let paid = try await Purchase.prepare(suite, shelf).pay()
            #expect(paid.status == 200, "\(paid.text)")
            let product = try await ParseClient(suite).get("/classes/Product/\(shelf.productIds[0])")
            #expect(product["stock"] == 4)
        }
    }

    /// 50 ms of delay, more or less, in each direction, and a loss of two frames in a hundred.
    @Test func aSlowAndLossyNetworkServesAShopper() async throws {
        try await onHosts { hosts, suite in
            let shelf = try await Shelf.fill(suite, names: ["Slow \(Names.random(4))"], stock: 50)
            for host in ["b", "c", "d"] {
                try await hosts.network.delay(host, milliseconds: 50, jitter: 20)
                try await hosts.network.lose(host, percent: 2)
            }
            let steps = Traffic()
            try await withThrowingTaskGroup(of: Void.self) { group in
                group.addTask {
                    try await steps.run(clients: 4) { number in
                        // A search, a product page, and sometimes a purchase.
                        switch number % 10 {
                        case 0: try await Purchase.prepare(suite, shelf).pay()
                        case 1...4:
                            try await ParseClient(suite).find("Product", ["brand": shelf.pointer], ["limit": 20])
                        default: try await ParseClient(suite).get("/classes/Product/\(shelf.productIds[0])")
                        }
                    }
                }
                defer { steps.stop() }
                try await steps.untilAnswered(100)
                steps.stop()
                try await group.waitForAll()
            }
            #expect(steps.attempts.kinds == ["200"])
            // A purchase consists of three requests.
            #expect(steps.attempts.longestWithoutStalls < Self.readDeadline)
        }
    }

    /// Shorter than the time after which a connection counts as broken: TCP retransmits the lost packets.
    @Test func aShortBreakFailsNothing() async throws {
        try await onHosts { hosts, suite in
            let className = "Short\(Names.random(6))"
            try await underTraffic(suite, className) { reads, writes in
                try await hosts.network.cut("c", "d")
                try await Task.sleep(for: .milliseconds(1500))
                try await hosts.network.mend("c", "d")
                try await reads.untilEachHasAnswer()
                try await writes.untilEachHasAnswer()
                #expect(reads.attempts.kinds == ["200"], "\(reads.attempts.failures)")
                #expect(writes.attempts.kinds == ["201"], "\(writes.attempts.failures)")
                // The network was really interrupted.
                #expect(writes.attempts.longest > .seconds(1))
                try await verifyOnce(suite, className, writes)
            }
        }
    }

    /// The two sides notice such a break at different times, or only one does, and the lane reconnects before the
    /// gateway missed it. Requests in flight must not be lost until the deadline.
    @Test(arguments: [2400, 2900, 3900]) func aBreakAboutAsLongAsItTakesToNoticeItFailsNothing(
        milliseconds: Int
    ) async throws {
        try await onHosts { hosts, suite in
            let className = "Edge\(Names.random(6))"
            try await underTraffic(suite, className) { reads, writes in
                try await hosts.network.cut("c", "d")
                try await Task.sleep(for: .milliseconds(milliseconds))
                try await hosts.network.mend("c", "d")
                try await hosts.untilHealthy(within: .seconds(10))
                try await reads.untilEachHasAnswer()
                try await writes.untilEachHasAnswer()
                #expect(reads.attempts.kinds == ["200"], "\(reads.attempts.failures)")
                #expect(writes.attempts.kinds == ["201"], "\(writes.attempts.failures)")
                // A write has 30 seconds; a read, which has 10, would have failed.
                #expect(writes.attempts.longestWithoutStalls < .seconds(15))
                try await verifyOnce(suite, className, writes)
            }
        }
    }

    /// One of two replicas is unreachable. The gateway notices after 2.5 seconds without acknowledgements from its
    /// host, or a second later on an idle connection. Then the other replica gets the requests.
    @Test func whatACutOffReplicaHadIsRepeatedOnAnother() async throws {
        try await onHosts { hosts, suite in
            let className = "Spare\(Names.random(6))"
            try await underTraffic(suite, className) { reads, writes in
                try await hosts.network.cut("d")
                try await Task.sleep(for: .seconds(7))
                try await reads.untilEachHasAnswer()
                #expect(reads.attempts.kinds == ["200"], "\(reads.attempts.failures)")
                #expect(reads.attempts.longest > .seconds(1), "No request was on its way to the replica.")
                #expect(reads.attempts.longestWithoutStalls < .seconds(6))
                try await hosts.network.mend("d")
                try await hosts.untilHealthy(within: .seconds(10))
                #expect(writes.attempts.kinds == ["201"], "\(writes.attempts.failures)")
            }
        }
    }

    /// The host of the only writer is cut off for longer than a read waits.
    @Test func aHostThatIsCutOffIsMissedForAsLongAndNothingIsDoneTwice() async throws {
        try await onHosts { hosts, suite in
            let className = "Away\(Names.random(6))"
            let count = 12
            let shelf = try await Shelf.fill(suite, names: ["Away \(Names.random(4))"], stock: 100)
            let purchases = try await Purchase.prepare(suite, shelf, count: count)
            let payments = Traffic()
            try await underTraffic(suite, className) { reads, writes in
                async let paid: Void = pay(purchases, payments)
                try await hosts.network.cut("c", "d")
                try await Task.sleep(for: .seconds(9))
                try await hosts.network.mend("c", "d")
                try await hosts.untilHealthy(within: .seconds(10))
                try await reads.untilEachHasAnswer()
                try await writes.untilEachHasAnswer()
                try await paid
                #expect(reads.attempts.kinds.isSubset(of: ["200", "503/2"]), "\(reads.attempts.kinds)")
                #expect(reads.attempts.longestWithoutStalls < Self.readDeadline)
                // The outcome of a change may be unknown (124).
                #expect(writes.attempts.kinds.isSubset(of: ["201", "503/2", "400/124"]), "\(writes.attempts.kinds)")
                #expect(writes.attempts.longestWithoutStalls < Self.writeDeadline)
                try await verifyOnce(suite, className, writes)
            }
            #expect(payments.attempts.longestWithoutStalls < Self.writeDeadline)
            let orders = payments.attempts.filter { $0.answer.status == 200 }.map { $0.answer.result.text("orderId") }
            #expect(orders.count == count)
            #expect(Set(orders).count == count)
            try await verify(hosts, suite, shelf, purchases)
        }
    }

    /// The customers buy one after the other, and retry until they have their orders.
    private func pay(_ purchases: [Purchase], _ payments: Traffic) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, purchase) in purchases.enumerated() {
                group.addTask {
                    try await Task.sleep(for: .milliseconds(700 * index))
                    try await eventually("purchase \(index) is decided", within: .seconds(60)) {
                        let answer = try await payments.attempt(Int64(index)) { _ in try await purchase.pay() }
                        guard answer.status == 200 || answer.status == 503 || answer.code == 124 else {
                            throw Unexpected("checkout", answer)
                        }
                        return answer.status == 200
                    }
                }
            }
            try await group.waitForAll()
        }
    }

    /// The numbers of orders, charges and sold products equal the number of purchases.
    private func verify(_ hosts: HostSuite, _ suite: Suite, _ shelf: Shelf, _ purchases: [Purchase]) async throws {
        for purchase in purchases {
            let user = purchase.customer.userId
            let charges = try await hosts.seen(disk: "a").rows(
                "payments", "SELECT count(*) FROM charges WHERE userId = '\(user)' AND state = 'succeeded'")
            #expect(charges == [[1]])
        }
        try await eventually("the stock is what was not sold", within: .seconds(30)) {
            try await ParseClient(suite).get("/classes/Product/\(shelf.productIds[0])")["stock"]
                == .int(Int64(100 - purchases.count))
        }
    }
}
