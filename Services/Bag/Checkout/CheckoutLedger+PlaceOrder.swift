import Foundation
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

extension CheckoutLedger {
    /// Assigns the order number and marks the order as placed. The reply and all messages to other services are part of
    /// the same transaction. If the account was deleted meanwhile, no order is placed and the charge is refunded.
    /// - Returns: the receipt, or why there is no order.
    /// - Throws: `.serviceUnavailable` (2) until the bag knows which numbers have been assigned (`OrderNumberGate`).
    package func placeOrder(
        _ checkout: Checkout, _ priced: PricedOrder, chargeId: String
    ) async throws -> CheckoutOutcome {
        try numbers?.requireOpen()
        return try await store.write(for: nil, seldomFails: true) { transaction in
            guard try !DeletedUsers.contains(checkout.customerId, in: transaction) else {
                return try endWithoutOrder(
                    checkout, AccountDeletion.refusal, undoesCharge: !chargeId.isEmpty, in: transaction)
            }
            let (order, orderNo) = try Self.writeOrder(checkout, priced, chargeId: chargeId, in: transaction)
            let receipt = Receipt(order: order, priced: priced)
            let reply = receipt.json.serialized
            try Self.storeReply(
                checkout, .success(reply), reply: reply, orderNo: orderNo, chargeId: chargeId, in: transaction)
            try queueMessages(checkout, receipt, orderNo: orderNo, in: transaction)
            try CustomerTotals(currency: priced.currency).orderChanged(from: nil, to: order, in: transaction)
            try OrderEntries.orderChanged(from: nil, to: order, in: transaction)
            // `afterCommit` callbacks run before the reply is sent, so the mark file never lags behind a receipt.
            transaction.afterCommit { [numbers] in numbers?.record(orderNo) }
            return .success(reply)
        }
    }

    private struct ForcedRollback: Error {}

    /// The longest possible product name in a document: the catalog's limit of 500 bytes times six, the longest JSON
    /// escape of a byte.
    private static let longestName = String(decoding: repeatElement(UInt8(ascii: "x"), count: 3000), as: UTF8.self)

    /// Proves, before the charge, that the store will accept the order and its lines. Otherwise the customer could pay
    /// for an order that can never be placed. Leaves no changes behind.
    /// - Throws: `ParseError` for what the store refuses.
    static func requirePlaceable(_ checkout: Checkout, in transaction: StoreTransaction) throws {
        let priced = PricedOrder(
            lines: checkout.lines.map {
                PricedOrder.Line(
                    itemId: $0.itemId, productId: $0.productId, name: longestName, quantity: $0.quantity,
                    unitPriceMinorUnits: Price.minorUnitsMax,
                    discountMinorUnits: checkout.discount == nil ? 0 : Price.minorUnitsMax)
            },
            currency: Currency.standard.code,  // Any currency works here: all codes have three letters.
            discountCode: checkout.discount?.code)
        let chargeId = "ch_" + Names.random(40)
        guard try !canPlace(checkout, priced, chargeId: chargeId, in: transaction) else { return }
        do {
            try transaction.nested {
                _ = try writeOrder(checkout, priced, chargeId: chargeId, in: transaction)
                throw ForcedRollback()
            }
        } catch is ForcedRollback {}
    }

    /// Whether the store can confirm, without a write, that it will accept the order and its lines. The order number is
    /// a placeholder with the maximum number of digits, so that the real number is never longer. `OrderNumbers.assign`
    /// finds a free number as long as the last one is below `importedMax`.
    private static func canPlace(
        _ checkout: Checkout, _ priced: PricedOrder, chargeId: String, in transaction: StoreTransaction
    ) throws -> Bool {
        guard try OrderNumbers.last(in: transaction) < OrderNumbers.importedMax else { return false }
        var order = orderFields(checkout, priced, chargeId: chargeId, at: transaction.now)
        order["orderNo"] = .int(OrderNumbers.importedMax)
        guard try transaction.provesUpdate("Order", checkout.orderId, order, caller: .master) else { return false }
        return try priced.lines.allSatisfy {
            try transaction.provesUpdate("OrderItem", $0.itemId, itemFields($0), caller: .master)
        }
    }

    /// Writes the placed order and its lines.
    private static func writeOrder(
        _ checkout: Checkout, _ priced: PricedOrder, chargeId: String, in transaction: StoreTransaction
    ) throws -> (order: JSON, orderNo: Int64) {
        var fields = orderFields(checkout, priced, chargeId: chargeId, at: transaction.now)
        let placed = try OrderNumbers.assign(in: transaction) { orderNo in
            fields["orderNo"] = .int(orderNo)
            return (try transaction.update("Order", checkout.orderId, fields, caller: .master).document, orderNo)
        }
        for line in priced.lines {
            _ = try transaction.update("OrderItem", line.itemId, itemFields(line), caller: .master)
        }
        return placed
    }

    /// The fields that a placed order gets, except its number.
    private static func orderFields(
        _ checkout: Checkout, _ priced: PricedOrder, chargeId: String, at moment: Timestamp
    ) -> JSON {
        var fields = checkout.orderFields
        fields["orderDate"] = moment.wire
        for (name, value) in OrderDimensions().fields { fields[name] = value }
        fields["total"] = .int(priced.totalMinorUnits)
        fields["currency"] = .string(priced.currency)
        if let code = priced.discountCode {
            fields["discountCode"] = .string(code)
            fields["discountMinorUnits"] = .int(priced.discountMinorUnits)
        }
        if !chargeId.isEmpty { fields["stripePaymentId"] = .string(chargeId) }
        return fields
    }

    /// The fields that a line of a placed order gets.
    private static func itemFields(_ line: PricedOrder.Line) -> JSON {
        var fields: JSON = ["unitPriceMinorUnits": .int(line.unitPriceMinorUnits), "name": .string(line.name)]
        if line.discountMinorUnits > 0 { fields["discountMinorUnits"] = .int(line.discountMinorUnits) }
        return fields
    }

    private func queueMessages(
        _ checkout: Checkout, _ receipt: Receipt, orderNo: Int64, in transaction: StoreTransaction
    ) throws {
        let key = "checkout:\(checkout.id)"
        try outbox.add(
            CatalogCalls.commitReservation, .with { $0.reservationID = checkout.id }, key: "\(key):commit",
            in: transaction)
        let made = OrderMade.with {
            $0.orderID = checkout.orderId
            $0.orderNumber = orderNo
            $0.userID = checkout.customerId
            $0.totalMinorUnits = receipt.priced.totalMinorUnits
            $0.currency = receipt.priced.currency
            $0.pieces = UInt32(clamping: receipt.priced.lines.reduce(0) { $0 + $1.quantity })
            $0.madeAt = transaction.now.milliseconds
        }
        for call in NotificationCalls.orderMade {
            try outbox.add(call, made, key: "\(key):\(call.service)", in: transaction)
        }
        let cause = try MailCause.of(checkout, in: transaction)
        try confirm(receipt, to: checkout.email, name: receipt.customerName, cause, key: "\(key):mail", in: transaction)
        // Mail to the shop's own address: customers' orders must not use up its quota.
        let shop = MailCause(byShop: true)
        try confirm(receipt, to: copies.address, name: "", shop, key: "\(key):copy", in: transaction)
    }

    private func confirm(
        _ receipt: Receipt, to address: String, name: String, _ cause: MailCause, key: String,
        in transaction: StoreTransaction
    ) throws {
        guard !address.isEmpty else { return }
        let mail = SendMailRequest.with {
            $0.template = "order-confirmation"
            $0.toAddress = address
            $0.toName = name
            $0.model = Data(receipt.mailModel.serialized)
            $0.orderNumber = receipt.orderNo
            cause.fill(&$0)
        }
        try outbox.add(MailCalls.send, mail, key: key, in: transaction)
    }
}
