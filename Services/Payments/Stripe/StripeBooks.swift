import ObjectStore
import ParseProtocol
import ServiceKit

/// Compares the charges of the last weeks with Stripe's list, for `scripts/verify`: a day at a time, so that memory and
/// time of an answer are bounded. Stores nothing.
package struct StripeBooks: Sendable {
    private let client: StripeClient
    private let store: ClassStore

    /// Before today. Older charges are settled.
    private static let daysBack: Int64 = 34
    private static let daySeconds: Int64 = 86_400
    /// Pages of 100 charges in a day.
    private static let pagesMax = 1000

    package init(client: StripeClient, store: ClassStore) {
        self.client = client
        self.store = store
    }

    /// Answers `{provider}`, a day since 1970, with the comparison of this day, or of the oldest one: `{from, until,
    /// rows, found}` and the `next` day. The charges of payments that began from `from` to `until` (milliseconds) were
    /// compared. `{problem}`: Stripe cannot be asked.
    package func answer(_ question: JSON) async throws -> JSON {
        let now = Timestamp.now.milliseconds / 1000
        let today = now / Self.daySeconds
        let day = min(max(question["provider"]?.intValue ?? 0, today - Self.daysBack), today)
        let (first, end) = (day * Self.daySeconds, min((day + 1) * Self.daySeconds, now))
        var comparison = StripeComparison()
        do {
            try await compareListed(from: first, &comparison)
            try await compareKept(from: first, &comparison)
        } catch let trouble as StripeTrouble {
            return ["problem": .string("\(trouble)")]
        }
        var answer: JSON = [
            "from": .int(first * 1000), "until": .int((comparison.isFull ? first : end) * 1000),
            "rows": .int(comparison.rows), "found": .array(comparison.found),
        ]
        if day < today, !comparison.isFull { answer["next"] = .int(day + 1) }
        return answer
    }

    /// Both APIs make charges, to which Stripe copies an intent's metadata.
    private func compareListed(from first: Int64, _ comparison: inout StripeComparison) async throws {
        var last: String?
        for _ in 0..<Self.pagesMax {
            var form: StripeForm = [
                "limit": "100", "created[gte]": String(first), "created[lt]": String(first + Self.daySeconds),
            ]
            form.add("starting_after", last)
            let list = try await read("/v1/charges", form, object: "list")
            guard let page = list["data"]?.arrayValue else { throw StripeTrouble(.unreadable(status: 200)) }
            let listed = page.compactMap(ListedCharge.init)
            let kept = try await store.read(for: nil) { reader in
                try listed.map { charge in
                    try reader.rows("\(KeptCharge.sql) c.operationId = ?", [.text(charge.operationId)])
                        .first.map(KeptCharge.init)
                }
            }
            for (there, here) in zip(listed, kept) { comparison.compare(there, with: here) }
            last = page.last?["id"]?.stringValue
            guard list["has_more"] == true, last != nil, !comparison.isFull else { return }
        }
        throw StripeTrouble(.unreadable(status: 200))
    }

    /// The charges of payments that the list of their day does not have. Stripe's clock differs, and some of its
    /// charges are made on a later day, so each is looked up.
    private func compareKept(from first: Int64, _ comparison: inout StripeComparison) async throws {
        let kept = try await store.read(for: nil) { reader in
            try reader.rows(
                """
                \(KeptCharge.sql) c.createdAt >= ? AND c.createdAt < ? AND c.state = 'succeeded'
                AND EXISTS (SELECT 1 FROM stripeOperations o WHERE o.key = c.operationId)
                """, [.int(first * 1000), .int((first + Self.daySeconds) * 1000)]
            ).map(KeptCharge.init)
        }
        for here in kept where !comparison.seen.contains(here.operationId) && !comparison.isFull {
            comparison.rows += 1
            comparison.compare(here, with: try await charge(here.chargeId))
        }
    }

    private func charge(_ id: String) async throws -> ForeignCharge? {
        let escaped = StripeForm.escaped(id)
        do {
            guard id.hasPrefix("pi_") else {
                return ForeignCharge(stripe: try await read("/v1/charges/\(escaped)", [:], object: "charge"))
            }
            let intent = try await read(
                "/v1/payment_intents/\(escaped)", ["expand[]": "latest_charge"], object: "payment_intent")
            return intent["latest_charge"].flatMap(ForeignCharge.init(stripe:))
        } catch let trouble as StripeTrouble {
            if case .fault(let error) = trouble.reason, error.status == 404 { return nil }
            throw trouble
        }
    }

    // MARK: - Reading

    private static let attemptsMax = 4
    private static let backoff = Backoff(first: .seconds(1), longest: .seconds(30))

    private func read(_ path: String, _ form: StripeForm, object: String) async throws -> JSON {
        var failures = 0
        while true {
            do {
                return try await client.look(.get, path, form, key: nil, object: object)
            } catch let trouble as StripeTrouble where trouble.isPassing {
                failures += 1
                guard failures < Self.attemptsMax else { throw trouble }
                let asked = trouble.retryAfterSeconds.map { Duration.seconds(min(max($0, 0), 30)) }
                try await Task.sleep(for: asked ?? Self.backoff.pause(afterFailures: failures))
            }
        }
    }
}

/// A charge of a checkout in Stripe's list.
private struct ListedCharge: Sendable {
    let id: String
    /// Nil with the older API.
    let intentId: String?
    let operationId: String
    let charge: ForeignCharge

    /// Nil for a failed charge, and for one that no checkout of a shop made.
    init?(_ json: JSON) {
        guard let charge = ForeignCharge(stripe: json), let id = json["id"]?.stringValue,
            let operationId = json["metadata"]?["operation_id"]?.stringValue, operationId.hasPrefix("co_")
        else { return nil }
        self.id = id
        intentId = json["payment_intent"]?.stringValue
        self.operationId = operationId
        self.charge = charge
    }
}

/// A charge as payments has it.
private struct KeptCharge: Sendable {
    let operationId: String
    let state: String
    let chargeId: String
    let amount: Int64
    let currency: String
    /// Without refunds that are undecided.
    let refunded: Int64
    let isRefundPending: Bool

    static let sql = """
        SELECT c.operationId AS operationId, c.state AS state, coalesce(c.chargeId, '') AS chargeId,
        c.amount AS amount, c.currency AS currency,
        (SELECT coalesce(sum(r.amount), 0) FROM refunds r WHERE r.chargeOperationId = c.operationId
        AND r.state = 'succeeded') AS refunded,
        (SELECT count(*) FROM refunds r WHERE r.chargeOperationId = c.operationId AND r.state = 'created') AS pending
        FROM charges c WHERE
        """

    init(_ row: SQLRow) throws {
        operationId = try row.text("operationId")
        state = try row.text("state")
        chargeId = try row.text("chargeId")
        amount = try row.int("amount")
        currency = try row.text("currency").lowercased()
        refunded = try row.int("refunded")
        isRefundPending = try row.int("pending") > 0
    }
}

/// What differs in a day. No I/O.
private struct StripeComparison {
    /// As `ServiceBooks.foundMax`.
    private static let foundMax = 100

    var rows: Int64 = 0
    /// Each with the `ledger` that Stripe has of one of payments' charges.
    private(set) var found: [JSON] = []
    /// The operations whose charge was listed.
    private(set) var seen: Set<String> = []

    /// Whether so much differs that the rest says nothing new, as with another account's key.
    var isFull: Bool { found.count >= Self.foundMax }

    mutating func compare(_ there: ListedCharge, with here: KeptCharge?) {
        rows += 1
        if let here, here.state == "succeeded", [there.id, there.intentId].contains(here.chargeId) {
            seen.insert(here.operationId)
            compare(here, with: there.charge)
            return
        }
        let left = there.charge.amountMinorUnits &- there.charge.refundedMinorUnits
        // An undecided one is decided by its next attempt or by an event.
        guard left > 0, here?.state != "created" else { return }
        let state = here.map { "\($0.state) \($0.chargeId)" } ?? "not known"
        found.append([
            "check": "stripe.unknown", "name": .string(there.id),
            "found": .string("\(left) \(there.charge.currency), \(there.operationId): \(state)"),
        ])
    }

    /// - Parameter there: nil when Stripe has no such charge.
    mutating func compare(_ here: KeptCharge, with there: ForeignCharge?) {
        let mine = "\(here.amount) \(here.currency)"
        let stripes = there.map { "\($0.amountMinorUnits) \($0.currency)" } ?? "nothing"
        var ledger: Int64 = 0
        if let there, there.currency == here.currency {
            ledger = there.amountMinorUnits &- there.refundedMinorUnits
        }
        func difference(_ check: String, _ text: String) -> JSON {
            [
                "check": .string(check), "name": .string(here.operationId), "found": .string(text),
                "ledger": .int(ledger),
            ]
        }
        if mine != stripes { found.append(difference("stripe.charge", "Charged \(mine); Stripe has \(stripes)")) }
        if let there, !here.isRefundPending, there.refundedMinorUnits != here.refunded {
            let text = "Refunded \(here.refunded); Stripe has \(there.refundedMinorUnits)"
            found.append(difference("stripe.refund", text))
        }
    }
}
