import Books
import MessageBus
import ObjectStore
import ParseProtocol
import ProcessKit

extension World {
    /// Faults happen for so long; then everything has to come to rest.
    private static let weatherMilliseconds = 8000.0
    private static let restSeconds = 7200
    /// The percentage of seeds in which each customer shops. Most bugs need one customer, and several short histories
    /// find more than a long one.
    private static let presence = [100, 20, 8]

    /// Runs customers, faults and the checks at the end.
    func run(_ chosen: [Int]?) async {
        startAll()
        let present = chosen ?? Self.presence.indices.filter { random.chance(Self.presence[$0]) }
        let shoppers = present.map {
            Shopper(self, number: $0, customer: bench.bags[$0].customer, order: bench.bags[$0].order)
        }
        at(due(after: Self.weatherMilliseconds, for: nil)) { [self] in weather.isOver = true }
        disturb()
        await withTaskGroup { group in
            for shopper in shoppers { group.addTask { await shopper.shop() } }
        }
        weather.isOver = true
        await rest(Shopper(self, number: bench.bags.count, customer: "", order: ""))
        await check(shoppers)
        isDone = true
    }

    /// Faults that no request or job brings.
    private func disturb() {
        thread.after(milliseconds: latency(100...600)) { [self] in
            guard !weather.isOver else { return }
            let alive = alive
            if let process = alive.isEmpty ? nil : alive[random.below(alive.count)] {
                if weather.strikes(.stall) { stall(process) }
                if weather.strikes(.crash) { crash(process, "for no reason") }
            }
            if hasTwoBags, weather.strikes(.otherLeader) { changeLeader() }
            if weather.strikes(.jump) {
                let seconds: UInt64 = [30, 700, 4000][random.below(3)]
                note("the clocks jump by \(seconds) s")
                thread.jump(seconds: seconds)
            }
            disturb()
        }
    }

    /// Waits until nothing is unfinished, and no refund is parked that an operator can retry.
    private func rest(_ operatorOfShop: Shopper) async {
        for _ in 0..<Self.restSeconds {
            guard let open = unfinished() else { return }
            if open.isEmpty {
                guard await retryRefund(operatorOfShop) else { return }
            }
            await pause(1000)
        }
        findings.append("It does not come to rest: \(unfinished() ?? "")")
    }

    /// - Returns: false when no refund is left to retry.
    private func retryRefund(_ operatorOfShop: Shopper) async -> Bool {
        do {
            guard let parked = try parkedRefund() else { return false }
            note("refund \(parked) is retried")
            guard case .failure(let failure) = try await operatorOfShop.retry(refund: parked) else { return true }
            guard ParseError(failure).code == .validationError else { return true }
            findings.append("refund: \(parked) is parked and cannot be retried: \(failure)")
        } catch {
            findings.append("Refunds cannot be retried: \(error)")
        }
        return false
    }

    /// Refunds that failed although enough money is left for them.
    private static let owedRefunds = """
        SELECT id FROM refunds WHERE state = 'failed' AND amount <= (SELECT amount FROM checkouts
        WHERE id = refunds.checkoutId) - (SELECT coalesce(sum(amount), 0) FROM refunds AS other
        WHERE other.orderId = refunds.orderId AND other.state = 'done')
        """

    /// The oldest one that an operator can retry.
    func parkedRefund() throws -> String? {
        try bench.databases["bag"]?.rows("\(Self.owedRefunds) AND isParked = 1 ORDER BY createdAt, id LIMIT 1").first?
            .text("id")
    }

    private static let open: [(service: String, what: String, sql: String)] = [
        (
            "bag", "checkouts, refunds or messages of bag",
            """
            SELECT (SELECT count(*) FROM checkouts WHERE state IN ('started', 'reserved', 'charged'))
            + (SELECT count(*) FROM refunds WHERE state = 'pending') + (SELECT count(*) FROM outbox) AS open
            """
        ),
        (
            "payments", "charges, refunds or messages of payments",
            """
            SELECT (SELECT count(*) FROM charges WHERE state = 'created')
            + (SELECT count(*) FROM refunds WHERE state = 'created') + (SELECT count(*) FROM outbox) AS open
            """
        ),
        ("catalog", "reservations", "SELECT count(*) AS open FROM reservations WHERE state = 'reserved'"),
        ("mail", "mails", "SELECT count(*) AS open FROM mails WHERE state = 'queued'"),
    ]

    /// The unfinished rows; empty for none, nil when they cannot be read.
    private func unfinished() -> String? {
        do {
            let open = try Self.open.compactMap { (service, what, sql) -> String? in
                let open = try bench.databases[service]?.rows(sql).first?.int("open") ?? 0
                return open > 0 ? "\(open) \(what)" : nil
            }
            let failing = stripe.failing.isEmpty ? [] : ["\(stripe.failing.count) refunds that fail"]
            return (open + failing).joined(separator: ", ")
        } catch {
            findings.append("What is unfinished cannot be read: \(error)")
            return nil
        }
    }

    // MARK: Checks

    private func check(_ shoppers: [Shopper]) async {
        let report = await BookAudit(bench, now: { Bench.checkedAt }, pause: nil).run()
        for finding in report.findings { findings.append("\(finding.check): \(finding.row): \(finding.found)") }
        for service in bench.services {
            if let reason = report.missing[service] { findings.append("\(service) was not checked: \(reason)") }
        }
        do {
            try checkStock()
            try checkMails()
            try checkParked()
            try checkRefunds()
            try checkStripe()
            for shopper in shoppers { try checkAnswers(shopper) }
        } catch {
            findings.append("The checks fail: \(error)")
        }
    }

    /// Stock = received − sold + returned.
    private func checkStock() throws {
        guard let catalog = bench.databases["catalog"] else { return }
        for (product, received) in zip(bench.products, Bench.stock) {
            let rows = try catalog.rows(
                """
                SELECT json_extract(doc, '$.stock') AS stock, (SELECT coalesce(sum(taken), 0) FROM reservationLines l
                JOIN reservations r ON r.id = l.reservationId WHERE l.productId = ?1 AND r.state = 'committed') AS sold,
                (SELECT coalesce(sum(pieces), 0) FROM restockedPieces WHERE productId = ?1) AS returned
                FROM \(bench.productTable) WHERE objectId = ?1
                """, [.text(product)])
            guard let row = rows.first else { continue }
            let (stock, sold, returned) = try (row.int("stock"), row.int("sold"), row.int("returned"))
            if stock != received - sold + returned {
                findings.append("stock: \(product): \(stock), but \(received) - \(sold) sold + \(returned) returned")
            }
        }
    }

    /// One confirmation for each order, and every mail left.
    private func checkMails() throws {
        guard let mail = bench.databases["mail"], let bag = bench.databases["bag"] else { return }
        let queued = try mail.rows(
            "SELECT orderNo, count(*) AS count FROM mails WHERE template = 'order-confirmation' GROUP BY orderNo")
        let confirmed = Dictionary(try queued.map { (try $0.int("orderNo"), try $0.int("count")) }) { $0 + $1 }
        let made = try bag.rows("SELECT orderNo FROM checkouts WHERE state = 'made'").map { try $0.int("orderNo") }
        for order in made where confirmed[order] != 1 {
            findings.append("mail: order \(order) has \(confirmed[order] ?? 0) confirmations")
        }
        for order in confirmed.keys.sorted() where !made.contains(order) {
            findings.append("mail: a confirmation of order \(order), which was not placed")
        }
        let sent = try mail.rows("SELECT count(*) AS count FROM mails WHERE state = 'sent'").first?.int("count") ?? 0
        if sent > mails.count { findings.append("mail: \(sent) are marked as sent, \(mails.count) left") }
    }

    /// No message is refused for good.
    private func checkParked() throws {
        for service in bench.services {
            for row in try bench.databases[service]?.rows("SELECT * FROM parkedMessages") ?? [] {
                findings.append("outbox: \(service) parked \(try row.text("key"))")
            }
        }
    }

    /// No refund is forgotten: an operator has retried each one that its order still owes.
    private func checkRefunds() throws {
        let newest = "NOT EXISTS(SELECT 1 FROM refunds r WHERE r.orderId = refunds.orderId AND r.rowid > refunds.rowid)"
        for row in try bench.databases["bag"]?.rows("\(Self.owedRefunds) AND \(newest)") ?? [] {
            findings.append("refund: \(try row.text("id")) failed and is not parked")
        }
    }

    /// Stripe and bag have the same amounts.
    private func checkStripe() throws {
        for (operation, taken) in stripe.taken {
            let row = try bench.databases["bag"]?.rows(
                """
                SELECT state, coalesce(amount, 0) - (SELECT coalesce(sum(r.amount), 0) FROM refunds r
                WHERE r.orderId = checkouts.orderId AND r.state = 'done') AS kept FROM checkouts WHERE id = ?
                """, [.text(operation)]
            ).first
            let kept = try row.map { try $0.text("state") == "made" ? $0.int("kept") : 0 } ?? 0
            if kept != taken { findings.append("stripe: \(operation): it has \(taken), bag \(kept)") }
        }
    }

    /// Bag has each answer that a customer's app got.
    private func checkAnswers(_ shopper: Shopper) throws {
        for (key, known) in shopper.answers.sorted(by: { $0.key < $1.key }) {
            let row = try bench.databases["bag"]?.rows(
                "SELECT state, reply FROM checkoutKeys JOIN checkouts ON id = checkoutId WHERE key = ?",
                [.text("client:\(key)")]
            ).first
            switch known {
            case .receipt(let bytes):
                guard let row, try row.text("state") == "made", try row.blob("reply") == bytes else {
                    findings.append("answer: the receipt of \(key) is not that of an order")
                    continue
                }
            case .refused(.scriptFailed):
                if let row, try row.text("state") == "made" {
                    findings.append("answer: \(key) was refused, but an order was placed")
                }
            case .refused: break
            }
        }
    }
}
