import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// A receiver of the events that must reach another service: the outbox, or a test's list.
package protocol EventSink: Sendable {
    func add<Request, Reply>(
        _ call: Call<Request, Reply>, _ message: Request, key: String, in transaction: StoreTransaction
    ) throws
}

extension Outbox: EventSink {}

/// The stored side of checkouts. Every method is one transaction.
package struct CheckoutLedger: Sendable {
    let store: ClassStore
    let outbox: any EventSink
    /// Nil where no number was ever given out, as in a test's fresh store.
    let numbers: OrderNumberGate?

    let copies: OrderCopies
    /// Nil where one process drives all checkouts.
    let turns: CheckoutTurns?

    package init(
        store: ClassStore, outbox: any EventSink, numbers: OrderNumberGate? = nil, copies: OrderCopies = OrderCopies(),
        turns: CheckoutTurns? = nil
    ) {
        self.turns = turns
        self.store = store
        self.outbox = outbox
        self.numbers = numbers
        self.copies = copies
    }

    /// - Throws: `.validationError` (142) while a checkout of the order runs.
    package static func requireNotBeingPaid(_ orderId: String, in store: some ObjectReading) throws {
        guard try running(orderId, in: store) == nil else {
            throw beingPaid
        }
    }

    static func running(_ orderId: String, in store: some ObjectReading) throws -> String? {
        try store.rows(
            "SELECT id FROM checkouts WHERE orderId = ? AND state IN ('started', 'reserved', 'charged')",
            [.text(orderId)]
        ).first?.text("id")
    }

    /// - Throws: `.validationError` (142) while an order that the line belongs to is being paid, whatever the order's
    ///   status.
    static func requireNotBeingPaid(_ item: BagItem, in store: some ObjectReading) throws {
        let paying = try store.rows(
            """
            SELECT lines FROM checkouts WHERE customerId = ? AND state IN ('started', 'reserved', 'charged')
            """, [.text(item.customerId)])
        for row in paying {
            let lines = try JSON(clientText: Array(row.text("lines").utf8)).arrayValue ?? []
            if lines.contains(where: { $0["itemId"]?.stringValue == item.objectId }) { throw beingPaid }
        }
    }

    private static let beingPaid = ParseError(.validationError, "This order is being paid.")

    /// The checkout that one of the keys was used for.
    /// - Parameter orderId: the order that the request names, if it does.
    /// - Throws: `.validationError` (142) when the key was used for another order: its answer would be taken for this
    ///   one's.
    static func known(
        _ keys: [String], of customerId: String, orderId: String?, in store: some ObjectReading
    ) throws -> String? {
        for key in keys {
            let rows = try store.rows(
                """
                SELECT checkoutId, orderId FROM checkoutKeys JOIN checkouts ON id = checkoutId
                WHERE checkoutKeys.customerId = ? AND key = ?
                """, [.text(customerId), .text(key)])
            guard let row = rows.first else { continue }
            guard try orderId == nil || orderId == row.text("orderId") else {
                throw ParseError(.validationError, "This idempotency key was used for another order.")
            }
            return try row.text("checkoutId")
        }
        return nil
    }

    /// Checkouts that were interrupted.
    /// - Parameter now: of those that are a process's turn only those whose time is over then are named.
    func unfinished(at now: Timestamp = .now) async throws -> [String] {
        try await store.read { [isShared = turns != nil] reader in
            try reader.rows(
                """
                SELECT id FROM checkouts WHERE state IN ('started', 'reserved', 'charged') AND drivenUntil <= ?
                """, [.int(isShared ? now.milliseconds : .max)]
            ).map { try $0.text("id") }
        }
    }

    /// Takes the checkout for this process, or puts the end of its turn off.
    /// - Returns: false while another process drives it, and when it is decided.
    func take(_ id: String) async throws -> Bool {
        guard let turns else { return true }
        return try await store.write { try turns.take(id, in: $0) }
    }

    /// Leaves the checkout to whoever is asked for it next.
    func give(_ id: String) async throws {
        guard let turns else { return }
        try await store.write { try turns.give(id, in: $0) }
    }

    func load(_ id: String) async throws -> CheckoutRecord {
        try await store.read { reader in
            guard let row = try reader.rows("SELECT * FROM checkouts WHERE id = ?", [.text(id)]).first else {
                throw ParseError.internalError
            }
            return try CheckoutRecord(row)
        }
    }

    /// Stores that a step was taken. None is taken back, whoever drives the checkout beside us.
    /// - Throws: `StepTaken` where it is further already.
    package func store(_ point: RecoveryPoint, of checkout: Checkout) async throws {
        let (priced, chargeId): (PricedOrder?, String?) =
            switch point {
            case .reserved(let order): (order, nil)
            case .charged(let order, let chargeId): (order, chargeId)
            case .started, .decided: (nil, nil)
            }
        let before =
            switch point {
            case .started: "'started'"
            case .reserved: "'started', 'reserved'"
            case .charged, .decided: "'started', 'reserved', 'charged'"
            }
        try await store.write { transaction in
            let changed = try transaction.execute(
                """
                UPDATE checkouts SET state = ?, priced = ?, amount = ?, currency = ?, chargeId = ?, updatedAt = ? \
                WHERE id = ? AND state IN (\(before))
                """,
                [
                    .text(point.name), priced.map { .text($0.text) } ?? .null,
                    priced.map { .int($0.totalMinorUnits) } ?? .null, priced.map { .text($0.currency) } ?? .null,
                    chargeId.map(SQLValue.text) ?? .null, .int(transaction.now.milliseconds), .text(checkout.id),
                ])
            guard changed == 1 else { throw StepTaken() }
        }
    }

    /// The failure becomes the checkout's reply, and what it reserved is released.
    package func fail(_ checkout: Checkout, _ error: ParseError) async throws -> CheckoutOutcome {
        try await store.write { [outbox] transaction in
            try Self.finish(checkout, .failure(error), reply: error.body.serialized, orderNo: nil, in: transaction)
            // Also when nothing was reserved as far as we know: an answer may have been lost.
            try outbox.add(
                CatalogCalls.releaseReservation, .with { $0.reservationID = checkout.id },
                key: "checkout:\(checkout.id):release", in: transaction)
        }
        return .failure(error)
    }

    /// - Parameter chargeId: of a charge that may not be stored yet; empty when there is none.
    static func finish(
        _ checkout: Checkout, _ outcome: CheckoutOutcome, reply: [UInt8], orderNo: Int64?, chargeId: String = "",
        in transaction: StoreTransaction
    ) throws {
        let changed = try transaction.execute(
            """
            UPDATE checkouts SET state = ?, reply = ?, orderNo = ?, chargeId = coalesce(?, chargeId), source = '{}',
            updatedAt = ? WHERE id = ? AND state IN ('started', 'reserved', 'charged')
            """,
            [
                .text(RecoveryPoint.decided(outcome).name), .blob(reply), orderNo.map(SQLValue.int) ?? .null,
                chargeId.isEmpty ? .null : .text(chargeId), .int(transaction.now.milliseconds), .text(checkout.id),
            ])
        // Nobody numbers the order again.
        guard changed == 1 else { throw StepTaken() }
    }
}
