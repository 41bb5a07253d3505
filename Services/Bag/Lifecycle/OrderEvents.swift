import Foundation
import Messages
import ObjectStore
import ParseProtocol

/// The messages to mail, push and analytics when an order changes state.
struct OrderEvents {
    /// The order as stored now.
    let order: OrderRecord
    let status: OrderStatus
    /// Identifies the change within the order; the outbox sends the messages of one key once.
    let changeKey: String
    /// The refunded amount, in minor units.
    var refundedAmount: Int64 = 0
    /// Whether a refund left a part of the payment.
    var isPartial = false
    var reason = ""
    /// The customer's current address; nil when it is unknown.
    let contact: CustomerContact?
    /// True when an operator requested the step, false when the customer did.
    var byShop = true
    /// The shop's currency.
    let currency: Currency

    func queue(_ outbox: any EventSink, in transaction: StoreTransaction) throws {
        let key = "order:\(order.objectId):\(changeKey)"
        let priced = try order.priced(in: transaction, currency: currency)
        let changed = OrderChanged.with {
            $0.orderID = order.objectId
            $0.orderNumber = order.orderNo
            $0.userID = order.customerId
            $0.status = status.event
            $0.refundedMinorUnits = refundedAmount
            $0.partlyRefunded = isPartial
            $0.currency = priced.currency
            $0.changedAt = transaction.now.milliseconds
        }
        for call in NotificationCalls.orderChanged {
            try outbox.add(call, changed, key: "\(key):\(call.service)", in: transaction)
        }
        try mail(outbox, priced, in: transaction)
    }

    /// Queues only the mail, no events.
    /// - Parameter isTrackingCorrected: whether the customer already got a mail about the shipment, with other details.
    func mail(
        _ outbox: any EventSink, _ priced: PricedOrder, isTrackingCorrected: Bool = false,
        in transaction: StoreTransaction
    ) throws {
        // If the account has no address, uses the address sent with the order.
        let known = contact?.email ?? ""
        let address = known.isEmpty ? order.payment?.email ?? "" : known
        guard !address.isEmpty, let template else { return }
        let receipt = Receipt(order: order.document, priced: priced)
        let mail = SendMailRequest.with {
            $0.template = template
            $0.toAddress = address
            $0.toName = receipt.customerName
            $0.model = Data(model(receipt, isTrackingCorrected).serialized)
            $0.orderNumber = order.orderNo
            MailCause(
                addressVerified: contact?.isVerified == true && !known.isEmpty, byShop: byShop, userId: order.customerId
            ).fill(&$0)
        }
        try outbox.add(MailCalls.send, mail, key: "order:\(order.objectId):\(changeKey):mail", in: transaction)
    }

    private var template: String? {
        switch status {
        case .open, .made: nil
        case .shipped: "order-shipped"
        case .delivered: "order-delivered"
        case .cancelled: "order-cancelled"
        case .refunded: "order-refunded"
        }
    }

    private func model(_ receipt: Receipt, _ isTrackingCorrected: Bool) -> JSON {
        var model = receipt.mailModel
        for (name, value) in Shipment(order: order.document).fields { model[name] = value }
        if !reason.isEmpty { model["reason"] = .string(reason) }
        if refundedAmount > 0 { model["refundedMinorUnits"] = .int(refundedAmount) }
        if isTrackingCorrected { model["isTrackingCorrected"] = true }
        return model
    }
}
