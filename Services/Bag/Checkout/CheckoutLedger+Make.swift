import Foundation
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

extension CheckoutLedger {
    /// Numbers the order and marks it made; the reply and everything the others must hear are part of the same
    /// transaction.
    /// - Returns: the receipt.
    /// - Throws: `.serviceUnavailable` (2) before it is known which numbers were given out.
    package func make(_ checkout: Checkout, _ priced: PricedOrder, chargeId: String) async throws -> CheckoutOutcome {
        try numbers?.requireOpen()
        return try await store.write { transaction in
            let (order, orderNo) = try Self.complete(checkout, priced, chargeId: chargeId, in: transaction)
            let receipt = Receipt(order: order, priced: priced)
            let reply = receipt.json.serialized
            try Self.finish(
                checkout, .success(reply), reply: reply, orderNo: orderNo, chargeId: chargeId, in: transaction)
            try tellOthers(checkout, receipt, orderNo: orderNo, in: transaction)
            // Before the answer leaves: `afterCommit` runs first.
            transaction.afterCommit { [numbers] in numbers?.given(orderNo) }
            return .success(reply)
        }
    }

    private struct Undone: Error {}

    /// As long as a product's name can be in a document: the catalog's limit of 500 bytes, for each of which JSON may
    /// need six.
    private static let longestName = String(decoding: repeatElement(UInt8(ascii: "x"), count: 3000), as: UTF8.self)

    /// Proves, before anything is charged, that the store will take the order and its lines when they are made.
    /// Whatever it refuses afterwards would be paid and never made. Leaves nothing behind.
    /// - Throws: `ParseError` for what the store refuses.
    static func proveCompletable(_ checkout: Checkout, in transaction: StoreTransaction) throws {
        let priced = PricedOrder(
            lines: checkout.lines.map {
                PricedOrder.Line(
                    itemId: $0.itemId, productId: $0.productId, name: longestName, quantity: $0.quantity,
                    unitPriceMinorUnits: Price.minorUnitsMax)
            }, currency: Currency.standard.code)  // Any; all codes have three letters.
        let chargeId = "ch_" + Names.random(40)
        guard try !provesCompletion(checkout, priced, chargeId: chargeId, in: transaction) else { return }
        do {
            try transaction.nested {
                _ = try complete(checkout, priced, chargeId: chargeId, in: transaction)
                throw Undone()
            }
        } catch is Undone {}
    }

    /// Whether the store can say, without being changed, that it will take the order and its lines. The number is one
    /// of as many digits as any; that the real one is free is `OrderNumbers`' to see to, as long as it has room for it.
    private static func provesCompletion(
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

    /// Writes the paid order and its lines.
    private static func complete(
        _ checkout: Checkout, _ priced: PricedOrder, chargeId: String, in transaction: StoreTransaction
    ) throws -> (order: JSON, orderNo: Int64) {
        var fields = orderFields(checkout, priced, chargeId: chargeId, at: transaction.now)
        let made = try OrderNumbers.assign(in: transaction) { orderNo in
            fields["orderNo"] = .int(orderNo)
            return (try transaction.update("Order", checkout.orderId, fields, caller: .master).document, orderNo)
        }
        for line in priced.lines {
            _ = try transaction.update("OrderItem", line.itemId, itemFields(line), caller: .master)
        }
        return made
    }

    /// What a paid order gets, but for its number.
    private static func orderFields(
        _ checkout: Checkout, _ priced: PricedOrder, chargeId: String, at moment: Timestamp
    ) -> JSON {
        var fields = checkout.orderFields
        fields["orderDate"] = moment.wire
        for (name, value) in OrderStatus.made.fields { fields[name] = value }
        fields["total"] = .int(priced.totalMinorUnits)
        fields["currency"] = .string(priced.currency)
        if !chargeId.isEmpty { fields["stripePaymentId"] = .string(chargeId) }
        return fields
    }

    /// What a line of a paid order gets.
    private static func itemFields(_ line: PricedOrder.Line) -> JSON {
        ["unitPriceMinorUnits": .int(line.unitPriceMinorUnits), "name": .string(line.name)]
    }

    private func tellOthers(
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
        for call in NewsCalls.orderMade {
            try outbox.add(call, made, key: "\(key):\(call.service)", in: transaction)
        }
        let cause = try MailCause.of(checkout, in: transaction)
        try confirm(receipt, to: checkout.email, name: receipt.customerName, cause, key: "\(key):mail", in: transaction)
        // The shop's own address: what customers order must not use up a quota of it.
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
