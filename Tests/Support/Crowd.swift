import ParseProtocol
import Synchronization

/// Customers who browse and buy until they are stopped. The crowd records every receipt.
package final class Crowd: Sendable {
    private struct State {
        var isOpen = true
        var gatewayMayFail = false
        var packetsMayVanish = false
        var requestsMayBeCut = false
        var receipts: [[String: JSON]]
        var problems: [String] = []
        var reads = 0
        var repeated: [String] = []
        var lastAnswer: ContinuousClock.Instant?
        var longestPause = Duration.zero
        var longestWait = Duration.zero

        /// Records a receipt, and the time since the previous one.
        mutating func take(_ receipt: JSON, of customer: Int, for key: String) {
            receipts[customer][key] = receipt
            let now = ContinuousClock.now
            if let lastAnswer { longestPause = max(longestPause, now - lastAnswer) }
            lastAnswer = now
        }
    }

    /// The error that the final state is inconsistent.
    package struct Unbalanced: Error, CustomStringConvertible {
        package let description: String
    }

    private let suite: Suite
    private let shelf: Shelf
    private let customers: [Customer]
    private let state: Mutex<State>

    /// - Parameter urls: gateway URLs, assigned to the customers in rotation; empty for the suite's own URL.
    package init(_ suite: Suite, shelf: Shelf, count: Int, urls: [String] = []) async throws {
        self.suite = suite
        self.shelf = shelf
        customers = try await withThrowingTaskGroup(of: Customer.self) { group in
            for index in 0..<count {
                group.addTask {
                    var customer = try await Customer.signUp(suite)
                    if !urls.isEmpty { customer.client.url = urls[index % urls.count] }
                    return customer
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        state = Mutex(State(receipts: Array(repeating: [:], count: count)))
    }

    /// Checkouts answered so far.
    package var checkouts: Int { state.withLock { $0.receipts.reduce(0) { $0 + $1.count } } }

    /// The receipts of each customer so far, by idempotency key.
    package var told: [(customer: Customer, receipts: [String: JSON])] {
        let receipts = state.withLock { $0.receipts }
        return zip(customers, receipts).map { ($0, $1) }
    }

    /// The longest time between the answers of two consecutive checkouts.
    package var longestPause: Duration { state.withLock { $0.longestPause } }

    /// Returns the longest request latency since the last call, without the time in which the machine stood still.
    package func takeLongestWait() -> Duration {
        state.withLock { state in
            let longest = state.longestWait
            state.longestWait = .zero
            return longest
        }
    }

    /// The answers that caused customers to retry.
    package var repeated: [String] { state.withLock { $0.repeated } }

    /// From now on, requests may get no answer or a 5xx. Use it when the gateway is killed, because it has no second
    /// instance.
    package func gatewayMayFail() { state.withLock { $0.gatewayMayFail = true } }

    /// From now on, a request may end without an answer: the balancer closes a connection whose gateway is killed
    /// during a request. The balancer retries reads only, and only if the gateway had begun to read them (otherwise it
    /// sees a reset). HTTP clients retry such reads themselves.
    package func requestsMayBeCut() { state.withLock { $0.requestsMayBeCut = true } }

    /// From now on, packets between processes may be lost. Any request, including a read, may get no answer, a 503 with
    /// `Retry-After`, or a timeout error (124).
    package func packetsMayVanish() {
        state.withLock {
            $0.gatewayMayFail = true
            $0.packetsMayVanish = true
        }
    }

    /// Lets all customers buy while `body` runs, then lets each finish its current purchase.
    package func buyWhile(_ body: () async throws -> Void) async throws {
        try await withThrowingTaskGroup(of: Void.self) { group in
            for index in customers.indices { group.addTask { try await self.shop(index) } }
            do {
                try await body()
            } catch {
                let problems = state.withLock {
                    $0.isOpen = false; return $0.problems
                }
                group.cancelAll()
                throw NeverHappened("\(error)\n\(problems.prefix(10).joined(separator: "\n"))")
            }
            state.withLock { $0.isOpen = false }
            try await group.waitForAll()
        }
    }

    // MARK: - One customer

    private func shop(_ index: Int) async throws {
        let customer = customers[index]
        var round = 0
        while state.withLock({ $0.isOpen }) {
            round += 1
            try await browse(customer)
            let product = Int.random(in: shelf.productIds.indices)
            let quantity = Int64.random(in: 1...3)
            try await untilAnswered("setBagQuantity", customer) { client in
                try await client.run(
                    "setBagQuantity",
                    ["productId": .string(self.shelf.productIds[product]), "quantity": .int(quantity)])
            }
            let key = "\(index)-\(round)"
            let answer = try await untilAnswered("checkout", customer) { client in
                try await client.run(
                    "checkout",
                    ["tokenId": "tok_visa", "idempotencyKey": .string(key), "shippingAddress": Customer.address])
            }
            state.withLock { $0.take(answer.result, of: index, for: key) }
            check(answer.result, product: product, quantity: quantity)
        }
    }

    /// The prices of the products repeat 3.50, 12.00, 18.25. Any other price in a receipt is an error.
    private func check(_ receipt: JSON, product: Int, quantity: Int64) {
        let price: Int64 = [350, 1200, 1825][product % 3]
        let item = receipt.at("items", 0)
        guard receipt["totalMinorUnits"]?.intValue == price * quantity, receipt["items"]?.arrayValue?.count == 1,
            item?["productId"] == .string(shelf.productIds[product]), item?["quantity"]?.intValue == quantity
        else { return report("A receipt for \(quantity) of product \(product) is \(receipt.serializedText)") }
    }

    private func browse(_ customer: Customer) async throws {
        let id = shelf.productIds.randomElement() ?? ""
        try await read("a product", customer, { try await $0.get("/classes/Product/\(id)") }) { $0.objectId == id }
        let condition: JSON = ["brand": shelf.pointer]
        try await read("a page", customer, { try await $0.find("Product", condition, ["order": "name", "limit": 20]) })
        {
            $0.results.map { $0.text("name") } == self.shelf.names.sorted()
        }
        try await read(
            "the orders", customer, { try await $0.find("Order", ["orderStatus": 1], ["limit": 1, "count": 1]) }
        ) {
            $0["count"]?.intValue != nil
        }
    }

    /// Sends a request and records its duration, whatever the outcome.
    private func ask(
        _ what: String, _ customer: Customer, _ request: (ParseClient) async throws -> ParseClient.Answer
    ) async throws -> ParseClient.Answer {
        let meter = StallMeter()
        defer {
            let took = meter.elapsed
            state.withLock { $0.longestWait = max($0.longestWait, took) }
        }
        let answer = try await request(customer.client)
        if answer.status >= 500, state.withLock({ $0.packetsMayVanish }),
            answer.status != 503 || !answer.headers.contains(name: "Retry-After")
        {
            report("\(what): \(answer.status) \(answer.text.prefix(300)) does not say when to come again")
        }
        return answer
    }

    /// A read must be answered correctly, unless the gateway itself is down.
    private func read(
        _ what: String, _ customer: Customer, _ request: (ParseClient) async throws -> ParseClient.Answer,
        isRight: (ParseClient.Answer) -> Bool
    ) async throws {
        let (mayFail, mayTakeTooLong) = state.withLock {
            $0.reads += 1; return ($0.gatewayMayFail, $0.packetsMayVanish)
        }
        do {
            let answer = try await ask(what, customer, request)
            if answer.status == 200, isRight(answer) { return }
            if answer.status >= 500, mayFail { return }
            if answer.code == 124, mayTakeTooLong { return }
            report("\(what): \(answer.status) \(answer.text.prefix(300))")
        } catch let error as CancellationError {
            throw error
        } catch {
            // Reads the state again: the gateway may have been killed during the request.
            state.withLock { state in
                let problem = "\(what): \(error)"
                if state.requestsMayBeCut { state.repeated.append(problem) }
                if !state.gatewayMayFail, !state.requestsMayBeCut { state.problems.append(problem) }
            }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    /// Retries an idempotent request until it gets a final answer.
    /// - Throws: `NeverHappened` with the last problem after three minutes.
    @discardableResult
    private func untilAnswered(
        _ what: String, _ customer: Customer, _ request: (ParseClient) async throws -> ParseClient.Answer
    ) async throws -> ParseClient.Answer {
        let begin = ContinuousClock.now
        while true {
            var problem = ""
            do {
                let answer = try await ask(what, customer, request)
                if answer.status == 200 { return answer }
                problem = "\(what): \(answer.status) \(answer.text.prefix(300))"
                // `.timeout` (124): the outcome is unknown. Retry with the same key.
                guard answer.status >= 500 || answer.code == 124 else {
                    report(problem)
                    throw Unexpected(what, answer)
                }
            } catch let error as Unexpected {
                throw error
            } catch let error as CancellationError {
                throw error
            } catch {
                problem = "\(what): \(error)"
                if state.withLock({ !$0.gatewayMayFail && !$0.requestsMayBeCut }) { report(problem) }
            }
            state.withLock { $0.repeated.append(problem) }
            guard ContinuousClock.now - begin < .seconds(180) else {
                throw NeverHappened("A customer was never answered: \(problem)")
            }
            try await Task.sleep(for: .milliseconds(100))
        }
    }

    private func report(_ problem: String) { state.withLock { $0.problems.append(problem) } }

    // MARK: - Verification

    /// Checks that each customer has exactly the orders of the recorded receipts, each with its own number, charge,
    /// mail and sale. Checks also the remaining stock.
    /// - Throws: `Unbalanced` with all inconsistencies.
    package func verify() async throws {
        let (receipts, problems, reads) = state.withLock { ($0.receipts, $0.problems, $0.reads) }
        var findings: [String] = []
        if !problems.isEmpty {
            findings.append("\(problems.count) of \(reads) reads: \(problems.prefix(10).joined(separator: "\n"))")
        }
        var numbers: [Int64] = []
        for (customer, told) in zip(customers, receipts) {
            let history = try await customer.client.findAll("Order", ["orderStatus": 1])
            let there = history.map(\.objectId).sorted()
            let known = told.values.map { $0.text("orderId") }.sorted()
            if there != known {
                let lost = Set(known).subtracting(there).sorted()
                let unknown = Set(there).subtracting(known).sorted()
                findings.append(
                    "\(customer.email) has \(there.count) orders and \(known.count) receipts; lost: \(lost), "
                        + "not told of: \(unknown)")
            }
            numbers += history.compactMap { $0["orderNo"]?.intValue }
        }
        let count = receipts.reduce(0) { $0 + $1.count }
        if numbers.count != count || Set(numbers).count != count {
            findings.append("\(count) orders have \(numbers.count) numbers, \(Set(numbers).count) of them different")
        }
        let charges = try await suite.rows(
            "payments", "SELECT count(*), count(DISTINCT orderId), sum(amount) FROM charges WHERE state = 'succeeded'")
        let total = receipts.flatMap(\.values).reduce(0) { $0 + ($1["totalMinorUnits"]?.intValue ?? 0) }
        let charged = (0..<3).map { charges.first?.at(.element($0))?.intValue }
        if charged != [Int64(count), Int64(count), total] {
            findings.append("\(count) orders of \(total) have charges, orders charged and a sum of \(charged)")
        }
        do {
            try await stockAndOutboxesAddUp(receipts.flatMap(\.values))
        } catch let error as NeverHappened {
            findings.append(error.description)
        }
        if !findings.isEmpty { throw Unbalanced(description: findings.joined(separator: "\n")) }
    }

    private func stockAndOutboxesAddUp(_ receipts: [JSON]) async throws {
        var sold: [String: Int64] = [:]
        for item in receipts.flatMap({ $0["items"]?.arrayValue ?? [] }) {
            sold[item.text("productId"), default: 0] += item["quantity"]?.intValue ?? 0
        }
        try await eventually("stock is what was not sold", within: .seconds(20)) {
            let products = try await self.customers[0].client.find("Product", ["brand": self.shelf.pointer]).results
            return products.count == self.shelf.names.count
                && products.allSatisfy { $0["stock"]?.intValue == 1_000_000 - sold[$0.objectId, default: 0] }
        }
        try await eventually("there is one mail for each order", within: .seconds(30)) {
            self.suite.mails().filter { $0.header("Subject")?.hasPrefix("Your order ") == true }.count == receipts.count
        }
        for (service, table) in [("analytics", "sales"), ("push", "notifications")] {
            try await eventually("\(service) heard of each order once", within: .seconds(30)) {
                try await self.suite.rows(service, "SELECT count(*) FROM \(table)").first?.at(0)?.intValue
                    == Int64(receipts.count)
            }
        }
    }
}
