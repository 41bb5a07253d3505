import Foundation
import Messages
import ObjectStore
import ParseProtocol

extension CheckoutLedger {
    /// Numbers the order and marks it made; the reply and everything the others must hear are part of the same transaction.
    /// - Returns: the receipt.
    package func make(_ checkout: Checkout, _ priced: PricedOrder, chargeId: String) async throws -> CheckoutOutcome {
        try await store.write { transaction in
            let numbers = try transaction.rows(
                "UPDATE counters SET value = value + 1 WHERE name = 'orderNo' RETURNING value", [])
            guard let orderNo = numbers.first?["value"].intValue else { throw ParseError.internalError }
            var fields = checkout.orderFields
            fields["orderNo"] = .int(orderNo)
            fields["orderDate"] = transaction.now.wire
            fields["orderStatus"] = 1
            fields["total"] = .int(priced.totalMinorUnits)
            fields["currency"] = .string(priced.currency)
            fields["stripePaymentId"] = .string(chargeId)
            let order = try transaction.update("Order", checkout.orderId, fields, caller: .master).document
            for line in priced.lines {
                _ = try transaction.update(
                    "OrderItem", line.itemId,
                    ["unitPriceMinorUnits": .int(line.unitPriceMinorUnits), "name": .string(line.name)], caller: .master
                )
            }
            let receipt = Receipt(order: order, priced: priced)
            let reply = receipt.json.serialized
            try Self.finish(checkout, .success(reply), reply: reply, orderNo: orderNo, in: transaction)
            try tellOthers(checkout, receipt, orderNo: orderNo, in: transaction)
            return .success(reply)
        }
    }

    private func tellOthers(
        _ checkout: Checkout, _ receipt: Receipt, orderNo: Int64, in transaction: StoreTransaction
    ) throws {
        let key = "checkout:\(checkout.id)"
        try outbox.add(
            "catalog.commitReservation.v1", CommitReservationRequest.with { $0.reservationID = checkout.id },
            key: "\(key):commit", in: transaction)
        let made = OrderMade.with {
            $0.orderID = checkout.orderId
            $0.orderNumber = orderNo
            $0.userID = checkout.customerId
            $0.totalMinorUnits = receipt.priced.totalMinorUnits
            $0.currency = receipt.priced.currency
            $0.pieces = UInt32(clamping: receipt.priced.lines.reduce(0) { $0 + $1.quantity })
            $0.madeAt = transaction.now.milliseconds
        }
        for service in ["analytics", "push"] {
            try outbox.add("\(service).orderMade.v1", made, key: "\(key):\(service)", in: transaction)
        }
        guard !checkout.email.isEmpty else { return }
        let mail = SendMailRequest.with {
            $0.template = "order-confirmation"
            $0.toAddress = checkout.email
            $0.toName = receipt.customerName
            $0.model = Data(receipt.mailModel.serialized)
        }
        try outbox.add("mail.send.v1", mail, key: "\(key):mail", in: transaction)
    }
}
