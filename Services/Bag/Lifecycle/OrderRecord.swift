import ObjectStore
import ParseProtocol

/// An order with its stored payment data: everything that decides which steps it may take. An open order may take none.
struct OrderRecord {
    /// The checkout that paid it.
    struct Payment {
        let checkoutId: String
        let priced: PricedOrder
        /// The customer's address when the order was placed; empty when there was none.
        let email: String
    }

    let document: JSON
    /// Nil for an imported order.
    let payment: Payment?
    let lifecycle: OrderLifecycle

    var objectId: String { document["objectId"]?.stringValue ?? "" }
    /// Empty when the account was deleted.
    var customerId: String { document["customer"]?.pointerTarget?.objectId ?? "" }
    var orderNo: Int64 { document["orderNo"]?.intValue ?? 0 }

    /// - Throws: `.objectNotFound` (101) when there is no such order.
    init(_ orderId: String, in store: ObjectReader) throws {
        try self.init(document: try store.document("Order", orderId, caller: .master), in: store)
    }

    init(document: JSON, in store: ObjectReader) throws {
        self.document = document
        let orderId = document["objectId"]?.stringValue ?? ""
        payment = try store.rows(
            "SELECT id, priced, email FROM checkouts WHERE orderId = ? AND state = 'made'", [.text(orderId)]
        ).first.map {
            try Payment(
                checkoutId: $0.text("id"), priced: try PricedOrder(text: $0.text("priced")), email: $0.text("email"))
        }
        var lifecycle = OrderLifecycle(
            OrderStatus(order: document), charged: payment?.priced.totalMinorUnits ?? 0)
        lifecycle.shipment = Shipment(order: document)
        if let dimensions = OrderDimensions(order: document) { lifecycle.fulfillment = dimensions.fulfillment }
        for row in try RefundLedger.rows(of: orderId, in: store) {
            if payment == nil, let charged = try row["charged"].intValue { lifecycle.charged = charged }
            let refund = try OrderLifecycle.Refund(
                RefundPurpose(rawValue: row.text("purpose")) ?? .refund, row.int("amount"))
            switch try row.text("state") {
            case "pending": lifecycle.pendingRefund = refund
            case "done": lifecycle.refundedAmount += refund.amount
            default: continue
            }
        }
        self.lifecycle = lifecycle
    }

    /// The lines with the prices that were paid. For an imported order, the values of its lines.
    /// - Parameter currency: the shop's currency, for an imported order that names none.
    func priced(in store: ObjectReader, currency: Currency) throws -> PricedOrder {
        if let payment { return payment.priced }
        let documents = try store.fetch("OrderItem", ids: document.itemIds, keys: [], caller: .master)
        let lines = try documents.compactMap { _, text -> PricedOrder.Line? in
            let line = try JSON(parsing: text)
            guard let item = BagItem(document: line) else { return nil }
            return PricedOrder.Line(
                itemId: item.objectId, productId: item.productId, name: line["name"]?.stringValue ?? "",
                quantity: item.quantity, unitPriceMinorUnits: line["unitPriceMinorUnits"]?.intValue ?? 0,
                discountMinorUnits: line["discountMinorUnits"]?.intValue ?? 0)
        }
        return PricedOrder(
            lines: lines, currency: document.orderCurrency(currency.code),
            discountCode: document["discountCode"]?.stringValue)
    }

    /// The answer of the order functions. It depends on the order alone, so a repeated request gets the same answer.
    var answer: JSON {
        var answer: JSON = ["orderId": .string(objectId)]
        for name in ["orderNo", "orderDate", "orderStatus", "total", "currency"] + Self.fields {
            if let value = document[name], !value.isNull { answer[name] = value }
        }
        return answer
    }

    /// Fields that only the server writes, `discountCode` also in the bag. `fulfillmentStatus` and `paymentStatus`
    /// are its dimensions, which `orderState` sums up; `refundedTotal` is in minor units; `refundState` is `pending`,
    /// `done` or `failed`.
    static let fields = [
        "orderState", "fulfillmentStatus", "paymentStatus", "shippedAt", "deliveredAt", "cancelledAt", "refundedAt",
        "refundedTotal", "refundState", "carrier", "trackingNumber", "trackingUrl", "cancelReason", "discountCode",
        "discountMinorUnits",
    ]
}
