import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The stored state of refunds. Every method is one transaction, or part of one.
package struct RefundLedger: Sendable {
    let store: ClassStore
    let outbox: any EventSink
    /// The shop's currency.
    let currency: Currency

    package init(store: ClassStore, outbox: any EventSink, currency: Currency) {
        self.store = store
        self.outbox = outbox
        self.currency = currency
    }

    // MARK: Reading

    /// Oldest first.
    static func rows(of orderId: String, in store: ObjectReader) throws -> [SQLRow] {
        try store.rows("SELECT * FROM refunds WHERE orderId = ? ORDER BY createdAt, id", [.text(orderId)])
    }

    static func pending(_ orderId: String, in store: ObjectReader) throws -> String? {
        try store.rows("SELECT id FROM refunds WHERE orderId = ? AND state = 'pending'", [.text(orderId)])
            .first?.text("id")
    }

    /// - Throws: `.validationError` (142) while a refund of the order is pending.
    static func requireNonePending(_ orderId: String, in store: ObjectReader) throws {
        guard try pending(orderId, in: store) == nil else {
            throw ParseError(.validationError, "A refund of this order is pending.")
        }
    }

    func unfinished() async throws -> [String] {
        try await store.read(for: nil) {
            try $0.rows("SELECT id FROM refunds WHERE state = 'pending'").map { try $0.text("id") }
        }
    }

    func load(_ id: String) async throws -> (refund: Refund, state: RefundMachine.StoredState, customerId: String) {
        try await store.read(for: nil) { reader in
            let row = try Self.row(id, in: reader)
            let order = try reader.documentIfFound("Order", row.text("orderId"), caller: .master)
            var refund = try Refund(row)
            refund.isOfCancelledOrder = order.flatMap { OrderStatus(order: $0) } == .cancelled
            return (refund, try RefundMachine.StoredState(row), order?["customer"]?.pointerTarget?.objectId ?? "")
        }
    }

    private static func row(_ id: String, in store: ObjectReader) throws -> SQLRow {
        guard let row = try store.rows("SELECT * FROM refunds WHERE id = ?", [.text(id)]).first else {
            throw ParseError.internalError
        }
        return row
    }

    // MARK: Changes

    /// Removes the reasons of an order's refunds when the customer's account is deleted.
    static func forgetReasons(of orderId: String, in transaction: StoreTransaction) throws {
        try transaction.execute("UPDATE refunds SET reason = '' WHERE orderId = ?", [.text(orderId)])
    }

    /// - Parameter charged: the refundable total of a charge that was made outside Satchel; nil for the charge of a
    ///   checkout.
    static func insert(
        _ refund: Refund, _ request: OrderLedger.StepRequest, charged: Int64?, in transaction: StoreTransaction
    ) throws {
        _ = try transaction.execute(
            """
            INSERT INTO refunds(id, orderId, checkoutId, purpose, amount, reason, restock, lines, madeBy, state,
            createdAt, changedAt, charged, retryOf)
            VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, 'pending', ?10, ?10, ?11, ?12)
            """,
            [
                .text(refund.id), .text(refund.orderId), .text(refund.checkoutId), .text(refund.purpose.rawValue),
                .int(refund.amount), .text(request.reason), .int(request.restock || refund.purpose == .cancel ? 1 : 0),
                request.lines.isEmpty ? .null : .text(request.lines.json.serializedText),
                request.madeBy.map(SQLValue.text) ?? .null,
                .int(transaction.now.milliseconds), charged.map(SQLValue.int) ?? .null,
                request.retryOf.map(SQLValue.text) ?? .null,
            ])
    }

    /// The refunds of an order, oldest first, for its timeline.
    package func list(_ orderId: String, for share: WorkShare?) async throws -> JSON {
        try await store.read(for: share) { reader in
            let names = try OrderRecord(orderId, in: reader).payment?.priced.lines ?? []
            let byId = Dictionary(names.map { ($0.itemId, $0.name) }) { first, _ in first }
            return .array(
                try Self.rows(of: orderId, in: reader).map { row in
                    var refund: JSON = try [
                        "refundId": .string(row.text("id")), "purpose": .string(row.text("purpose")),
                        "amount": .int(row.int("amount")), "state": .string(row.text("state")),
                        "reason": .string(row.text("reason")), "restock": .bool(row.int("restock") == 1),
                        "createdAt": Timestamp(milliseconds: row.int("createdAt")).wire,
                    ]
                    let lines = try RefundLines(stored: row["lines"].textValue).json.arrayValue ?? []
                    refund["lines"] = .array(
                        lines.map { line in
                            var line = line
                            line["name"] = line["itemId"]?.stringValue.flatMap { byId[$0] }.map(JSON.string)
                            return line
                        })
                    if let by = try row["madeBy"].textValue, !by.isEmpty { refund["madeBy"] = .string(by) }
                    if let problem = try row["problem"].textValue { refund["problem"] = .string(problem) }
                    if try Self.isInStock(row) { refund["inStock"] = true }
                    if let first = try row["retryOf"].textValue { refund["retryOf"] = .string(first) }
                    return refund
                })
        }
    }

    private struct ForcedRollback: Error {}

    /// Proves, before the refund, that the store will accept the order's state after it. Leaves no changes behind.
    /// - Throws: `ParseError` for what the store refuses.
    static func proveFinishable(_ refund: Refund, reason: String, in transaction: StoreTransaction) throws {
        do {
            try transaction.nested {
                _ = try writeOrder(refund, reason: reason, in: transaction)
                throw ForcedRollback()
            }
        } catch is ForcedRollback {}
    }

    /// The provider accepted the refund: stores the order's new status and the messages to other services in one
    /// transaction.
    /// - Parameter contact: the customer's current address; nil when it is unknown.
    package func finish(_ refund: Refund, providerId: String, contact: CustomerContact?) async throws {
        try await store.write(for: nil) { [outbox, currency] transaction in
            let row = try Self.row(refund.id, in: transaction)
            try Self.storeResult(refund, "done", providerId: .text(providerId), in: transaction)
            let reason = try row.text("reason")
            // The order no longer exists, so there is nothing to report.
            guard let (before, order) = try Self.writeOrder(refund, reason: reason, in: transaction) else { return }
            // While something is left to refund, a refused refund may still be owed to the customer.
            if order.lifecycle.left == 0 {
                try transaction.execute(
                    "UPDATE refunds SET isParked = 0 WHERE orderId = ? AND isParked = 1", [.text(refund.orderId)])
            } else {
                try ParkedRefunds.unpark(replacedBy: row, in: transaction)
            }
            try CustomerTotals(currency: currency.code).orderChanged(from: before, to: order.document, in: transaction)
            try OrderEntries.orderChanged(from: before, to: order.document, in: transaction)
            // Only an order of a checkout had a reservation.
            if order.payment != nil, try row.int("restock") == 1 {
                try Self.restock(
                    order, by: (refund.id, RefundLines(stored: row["lines"].textValue)), reservation: refund.checkoutId,
                    outbox, currency, in: transaction)
            }
            try OrderEvents(
                order: order, status: refund.purpose.status, changeKey: refund.id, refundedAmount: refund.amount,
                isPartial: OrderDimensions(order: order.document)?.payment == .partiallyRefunded, reason: reason,
                contact: contact, byShop: refund.purpose == .refund, currency: currency
            ).queue(outbox, in: transaction)
        }
    }

    /// Payments refused the refund. The order keeps its state and records the failure; the refund is parked.
    package func fail(_ refund: Refund, _ error: ParseError) async throws {
        try await store.write(for: nil) { transaction in
            try Self.storeResult(refund, "failed", problem: error, in: transaction)
            guard try transaction.documentIfFound("Order", refund.orderId, caller: .master) != nil else { return }
            _ = try transaction.update("Order", refund.orderId, ["refundState": "failed"], caller: .master)
        }
    }

    /// Whether the refund had succeeded before it failed: the customer's bank reversed it.
    static func wasReversed(_ row: SQLRow) throws -> Bool {
        try row.text("state") == "failed" && row["providerId"].textValue != nil
    }

    /// The customer's bank reversed a refund that was done: the shop has its money again and owes it to the customer,
    /// and the refund is parked. Goods that it returned to stock stay there, and an order that it cancelled stays
    /// cancelled. The audit log, which has operators' changes only, gets no entry; the refund keeps the problem.
    /// - Throws: `.serviceUnavailable` (2) while the refund is pending: its result would replace this one.
    package func reverse(_ id: String, _ problem: String, in transaction: StoreTransaction) throws {
        guard let row = try transaction.rows("SELECT * FROM refunds WHERE id = ?", [.text(id)]).first else { return }
        switch try row.text("state") {
        case "done": break
        case "pending": throw ParseError(.serviceUnavailable, "The refund is pending.")
        default: return
        }
        let refund = try Refund(row)
        // Analytics tells the reversals of an order apart by their times.
        let latest = try transaction.rows(
            "SELECT max(changedAt) AS latest FROM refunds WHERE orderId = ? AND doneAt IS NOT NULL",
            [.text(refund.orderId)]
        ).first?["latest"].intValue
        let failedAt = max(transaction.now.milliseconds, (latest ?? 0) + 1)
        try transaction.execute(
            """
            UPDATE refunds SET state = 'failed', problemCode = ?, problem = ?, doneAt = changedAt, changedAt = ?,
            isParked = 1 WHERE id = ?
            """,
            [
                .int(Int64(ParseError.Code.scriptFailed.rawValue)), .text(problem), .int(failedAt), .text(id),
            ])
        guard let (before, order) = try Self.takeBack(refund, in: transaction) else { return }
        try CustomerTotals(currency: currency.code).orderChanged(from: before, to: order.document, in: transaction)
        try OrderEntries.orderChanged(from: before, to: order.document, in: transaction)
        let changed = try OrderChanged.with {
            $0.orderID = order.objectId
            $0.orderNumber = order.orderNo
            $0.userID = order.customerId
            $0.status = OrderStatus.made.event
            $0.refundedMinorUnits = -refund.amount
            $0.currency = try order.priced(in: transaction, currency: currency).currency
            $0.changedAt = failedAt
        }
        try outbox.add(
            NotificationCalls(to: "analytics").orderChanged, changed,
            key: "order:\(order.objectId):\(id):failed:analytics", in: transaction)
    }

    /// Writes the order's state without a reversed refund; nil when the order no longer exists.
    private static func takeBack(
        _ refund: Refund, in transaction: StoreTransaction
    ) throws -> (before: JSON, after: OrderRecord)? {
        guard let present = try transaction.documentIfFound("Order", refund.orderId, caller: .master) else {
            return nil
        }
        let record = try OrderRecord(document: present, in: transaction)
        let shown = present["refundedTotal"]?.intValue ?? 0
        let returned = record.lifecycle.refundedAmount
        // `refundedTotal` of an imported order may include refunds that were made outside Satchel.
        let total =
            record.payment == nil
            ? max(0, shown.subtractingReportingOverflow(refund.amount).partialValue) : returned
        let latest = try transaction.rows(
            "SELECT max(changedAt) AS latest FROM refunds WHERE orderId = ? AND state = 'done'",
            [.text(refund.orderId)]
        ).first?["latest"].intValue
        let removed: JSON = ["__op": "Delete"]
        var dimensions = OrderDimensions(order: present) ?? OrderDimensions()
        dimensions.payment =
            total == 0 ? .paid : returned < record.lifecycle.charged ? .partiallyRefunded : .refunded
        var fields = dimensions.fields
        fields["refundedTotal"] = total == 0 ? removed : .int(total)
        if total == 0 {
            fields["refundedAt"] = removed
        } else if let latest {
            fields["refundedAt"] = Timestamp(milliseconds: latest).wire
        }
        if record.lifecycle.pendingRefund == nil { fields["refundState"] = "failed" }
        let updated = try transaction.update("Order", refund.orderId, .object(fields), caller: .master)
        return (updated.before, try OrderRecord(document: updated.document, in: transaction))
    }

    private static func storeResult(
        _ refund: Refund, _ state: String, providerId: SQLValue = .null, problem: ParseError? = nil,
        in transaction: StoreTransaction
    ) throws {
        let changed = try transaction.execute(
            """
            UPDATE refunds SET state = ?, providerId = ?, problemCode = ?, problem = ?, changedAt = ?, isParked = ?
            WHERE id = ? AND state = 'pending'
            """,
            [
                .text(state), providerId, problem.map { .int(Int64($0.code.rawValue)) } ?? .null,
                problem.map { .text($0.message) } ?? .null, .int(transaction.now.milliseconds),
                .int(problem == nil ? 0 : 1), .text(refund.id),
            ])
        // Another driver already stored the result.
        guard changed == 1 else { throw StepAlreadyTaken() }
    }

    /// Writes the order's state after the refund; nil when the order no longer exists.
    private static func writeOrder(
        _ refund: Refund, reason: String, in transaction: StoreTransaction
    ) throws -> (before: JSON, after: OrderRecord)? {
        guard let present = try transaction.documentIfFound("Order", refund.orderId, caller: .master) else {
            return nil
        }
        let before = present["refundedTotal"]?.intValue ?? 0
        let total = before.addingReportingOverflow(refund.amount).partialValue
        let record = try OrderRecord(document: present, in: transaction)
        // `refundedTotal` of an imported order may include refunds that were made outside Satchel.
        let isForeign = record.payment == nil
        let returned =
            isForeign
            ? try refund.amount + Self.done(of: refund.orderId, except: refund.id, in: transaction) : total
        var dimensions = OrderDimensions(order: present) ?? OrderDimensions()
        dimensions.payment = returned < record.lifecycle.charged ? .partiallyRefunded : .refunded
        if refund.purpose == .cancel {
            dimensions.isCancelled = true
            try DiscountCodes.releaseUse(of: refund.orderId, in: transaction)
        }
        var fields = dimensions.fields
        fields["refundedAt"] = transaction.now.wire
        fields["refundedTotal"] = .int(total)
        fields["refundState"] = "done"
        if refund.purpose == .cancel {
            fields.merge(OrderLedger.cancelled(reason, transaction.now)) { _, new in new }
        }
        let updated = try transaction.update("Order", refund.orderId, .object(fields), caller: .master)
        return (updated.before, try OrderRecord(document: updated.document, in: transaction))
    }

    private static func done(of orderId: String, except id: String, in store: ObjectReader) throws -> Int64 {
        try store.rows(
            "SELECT COALESCE(SUM(amount), 0) FROM refunds WHERE orderId = ? AND state = 'done' AND id <> ?",
            [.text(orderId), .text(id)]
        ).first?.int(0) ?? 0
    }

    /// Queues a restock of the pieces that the refund names or, when it names none, of all pieces not yet restocked. No
    /// piece is restocked twice.
    /// - Parameter refund: nil for an order that is cancelled without a refund.
    static func restock(
        _ order: OrderRecord, by refund: (id: String, lines: RefundLines)?, reservation: String,
        _ outbox: any EventSink, _ currency: Currency, in transaction: StoreTransaction
    ) throws {
        let all = try order.priced(in: transaction, currency: currency).lines
        guard let earlier = try ClaimedPieces(of: order.objectId, except: refund?.id, in: transaction).restocked else {
            return
        }
        let lines = all.compactMap { line -> (productId: String, quantity: Int)? in
            let left = line.quantity - (earlier[line.itemId] ?? 0)
            let wanted = refund.flatMap { $0.lines.isEmpty ? nil : $0.lines.pieces[line.itemId] ?? 0 } ?? left
            let quantity = min(left, wanted)
            return quantity > 0 ? (line.productId, quantity) : nil
        }
        guard !lines.isEmpty else { return }
        let isWhole = earlier.isEmpty && refund?.lines.isEmpty != false
        let id = "order:\(order.objectId)" + (isWhole ? "" : ":\(refund?.id ?? "rest")")
        let message = RestockRequest.with { message in
            message.restockID = id
            message.reservationID = reservation
            message.isPart = !isWhole
            message.lines = lines.map { line in
                .with {
                    $0.productID = line.productId; $0.quantity = UInt32(clamping: line.quantity)
                }
            }
        }
        try outbox.add(CatalogCalls.restock, message, key: "\(id):restock", in: transaction)
    }
}

extension Refund {
    init(_ row: SQLRow) throws {
        guard let purpose = try RefundPurpose(rawValue: row.text("purpose")) else { throw ParseError.internalError }
        try self.init(
            id: row.text("id"), orderId: row.text("orderId"), checkoutId: row.text("checkoutId"), purpose: purpose,
            amount: row.int("amount"))
    }
}

extension RefundMachine.StoredState {
    init(_ row: SQLRow) throws {
        switch try row.text("state") {
        case "pending": self = .pending
        case "done": self = .done
        case "failed":
            let code = try ParseError.Code(rawValue: Int(row["problemCode"].intValue ?? 142))
            self = try .failed(ParseError(code, row["problem"].textValue ?? ""))
        default: throw ParseError.internalError
        }
    }
}
