import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// A receiver of events for other services: the outbox, or a list in tests.
package protocol EventSink: Sendable {
    func add<Request, Reply>(
        _ call: Call<Request, Reply>, _ message: Request, key: String, in transaction: StoreTransaction
    ) throws
}

extension Outbox: EventSink {}

/// The stored state of checkouts. Every method is one transaction, or part of one.
package struct CheckoutLedger: Sendable {
    let store: ClassStore
    let outbox: any EventSink
    /// Nil in tests: a new store cannot have lost numbers.
    let numbers: OrderNumberGate?

    let copies: OrderCopies
    /// Nil when one process drives all checkouts.
    let leases: CheckoutLeases?
    /// The members that a shipping address must have.
    let requiredAddress: [String]

    package init(
        store: ClassStore, outbox: any EventSink, numbers: OrderNumberGate? = nil, copies: OrderCopies = OrderCopies(),
        leases: CheckoutLeases? = nil, requiredAddress: [String] = ShippingAddress.required
    ) {
        self.requiredAddress = requiredAddress
        self.leases = leases
        self.store = store
        self.outbox = outbox
        self.numbers = numbers
        self.copies = copies
    }

    /// - Throws: `.validationError` (142) while a checkout of the order runs.
    package static func requireNotBeingPaid(_ orderId: String, in store: ObjectReader) throws {
        guard try running(orderId, in: store) == nil else {
            throw beingPaid
        }
    }

    static func running(_ orderId: String, in store: ObjectReader) throws -> String? {
        try store.rows(
            "SELECT id FROM checkouts WHERE orderId = ? AND \(CheckoutState.runningCondition)", [.text(orderId)]
        ).first?.text("id")
    }

    /// - Throws: `.validationError` (142) while any order that contains the line is being paid, whatever the order's
    ///   status.
    static func requireNotBeingPaid(_ item: BagItem, in store: ObjectReader) throws {
        let paying = try store.rows(
            """
            SELECT lines FROM checkouts WHERE customerId = ? AND \(CheckoutState.runningCondition)
            """, [.text(item.customerId)])
        for row in paying {
            let lines = try JSON(parsing: row.text("lines")).arrayValue ?? []
            if lines.contains(where: { $0["itemId"]?.stringValue == item.objectId }) { throw beingPaid }
        }
    }

    static let beingPaid = ParseError(.validationError, "This order is being paid.")

    /// Running checkouts that no process has leased and that no customer has to confirm.
    func unfinished() async throws -> [String] {
        let now = Timestamp.now
        // Without leases, every running checkout matches.
        let end = leases.map { now.advanced(by: $0.length) }
        return try await store.read(for: nil) { reader in
            // A lease that expires later than `end` was written before the clock was set back; it counts as expired.
            try reader.rows(
                """
                SELECT id FROM checkouts WHERE \(CheckoutState.runningCondition) AND actionSince IS NULL \
                AND (drivenUntil <= ? OR drivenUntil > ?)
                """, [.int(end == nil ? .max : now.milliseconds), .int(end?.milliseconds ?? .max)]
            ).map { try $0.text("id") }
        }
    }

    /// Checkouts whose customer has to confirm the charge, the oldest first.
    package func awaitingConfirmation() async throws -> [String] {
        try await store.read(for: nil) { reader in
            try reader.rows(
                """
                SELECT id FROM checkouts WHERE \(CheckoutState.runningCondition) AND actionSince IS NOT NULL
                ORDER BY actionSince
                """, []
            ).map { try $0.text("id") }
        }
    }

    /// Stores that the customer has to confirm the charge: until a client repeats its request or
    /// `CheckoutRunner.pollUnconfirmedCharges` continues the checkout, no process drives it.
    package func awaitConfirmation(_ checkout: Checkout) async throws {
        try await store.write(for: nil) { transaction in
            let changed = try transaction.execute(
                "UPDATE checkouts SET actionSince = coalesce(actionSince, ?) WHERE id = ? AND state = 'reserved'",
                [.int(transaction.now.milliseconds), .text(checkout.id)])
            // An operator freed the bag meanwhile.
            guard changed == 1 else { throw StepAlreadyTaken() }
        }
    }

    /// Takes or renews this process's lease on the checkout.
    /// - Returns: false while another process drives it, and when it is decided.
    func takeLease(_ id: String) async throws -> Bool {
        guard let leases else { return true }
        return try await store.write(for: nil) { try leases.take(id, in: $0) }
    }

    func releaseLease(_ id: String) async throws {
        guard let leases else { return }
        try await store.write(for: nil) { try leases.release(id, in: $0) }
    }

    func load(_ id: String) async throws -> CheckoutRecord {
        try await store.read(for: nil) { reader in
            guard let row = try reader.rows("SELECT * FROM checkouts WHERE id = ?", [.text(id)]).first else {
                throw ParseError.internalError
            }
            var record = try CheckoutRecord(row)
            record.isCustomerDeleted = try DeletedUsers.contains(record.checkout.customerId, in: reader)
            return record
        }
    }

    /// Stores the state after a step. A stored state is never reverted, even when another process drives the same
    /// checkout.
    /// - Throws: `StepAlreadyTaken` when the stored state is already further.
    package func store(_ state: CheckoutState, of checkout: Checkout) async throws {
        let (priced, chargeId): (PricedOrder?, String?) =
            switch state {
            case .reserved(let order): (order, nil)
            case .charged(let order, let chargeId): (order, chargeId)
            case .started, .decided: (nil, nil)
            }
        let before =
            switch state {
            case .started: "state = 'started'"
            case .reserved: "state IN ('started', 'reserved')"
            case .charged, .decided: CheckoutState.runningCondition
            }
        try await store.write(for: nil, seldomFails: true) { transaction in
            let changed = try transaction.execute(
                """
                UPDATE checkouts SET state = ?, priced = ?, amount = ?, currency = ?, chargeId = ?, updatedAt = ? \
                WHERE id = ? AND \(before)
                """,
                [
                    .text(state.name), priced.map { .text($0.text) } ?? .null,
                    priced.map { .int($0.totalMinorUnits) } ?? .null, priced.map { .text($0.currency) } ?? .null,
                    chargeId.map(SQLValue.text) ?? .null, .int(transaction.now.milliseconds), .text(checkout.id),
                ])
            guard changed == 1 else { throw StepAlreadyTaken() }
        }
    }

    /// Stores the failure as the checkout's reply and releases its reservation.
    package func fail(_ checkout: Checkout, _ error: ParseError) async throws -> CheckoutOutcome {
        try await store.write(for: nil) { try endWithoutOrder(checkout, error, undoesCharge: false, in: $0) }
    }

    /// Ends a checkout without an order.
    /// - Parameter undoesCharge: the customer was or may have been charged, and the charge is refunded.
    func endWithoutOrder(
        _ checkout: Checkout, _ error: ParseError, undoesCharge: Bool, in transaction: StoreTransaction
    ) throws -> CheckoutOutcome {
        try Self.storeReply(checkout, .failure(error), reply: error.body.serialized, orderNo: nil, in: transaction)
        // Sent even when no reservation is known: the catalog's answer may have been lost.
        try outbox.add(
            CatalogCalls.releaseReservation, .with { $0.reservationID = checkout.id },
            key: "checkout:\(checkout.id):release", in: transaction)
        if undoesCharge {
            try outbox.add(
                PaymentsCalls.undoCharge, .with { $0.operationID = checkout.id }, key: "checkout:\(checkout.id):undo",
                in: transaction)
        }
        if try DeletedUsers.contains(checkout.customerId, in: transaction) {
            try AccountDeletion.forget(checkout.customerId, in: transaction)
        }
        return .failure(error)
    }

    /// Stores the final state and the reply in the checkout's row.
    /// - Parameter chargeId: of a charge that may not be stored yet; empty when there is none.
    static func storeReply(
        _ checkout: Checkout, _ outcome: CheckoutOutcome, reply: [UInt8], orderNo: Int64?, chargeId: String = "",
        in transaction: StoreTransaction
    ) throws {
        let changed = try transaction.execute(
            """
            UPDATE checkouts SET state = ?, reply = ?, orderNo = ?, chargeId = coalesce(?, chargeId), source = '{}',
            updatedAt = ? WHERE id = ? AND \(CheckoutState.runningCondition)
            """,
            [
                .text(CheckoutState.decided(outcome).name), .blob(reply), orderNo.map(SQLValue.int) ?? .null,
                chargeId.isEmpty ? .null : .text(chargeId), .int(transaction.now.milliseconds), .text(checkout.id),
            ])
        // Another driver already finished the checkout: the order must not get a second number.
        guard changed == 1 else { throw StepAlreadyTaken() }
    }
}
