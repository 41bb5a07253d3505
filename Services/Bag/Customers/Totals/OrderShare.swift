import ParseProtocol

/// What one placed order adds to the totals of its customer. No I/O.
struct OrderShare: Equatable {
    let orderId: String
    let customerId: String
    /// 0 for a cancelled order, else 1.
    let orders: Int64
    /// What was paid and not refunded.
    let minorUnits: Int64
    let currency: String
    /// Milliseconds, from 1.
    let placedAt: Int64
    let profile: CustomerProfile

    /// Nil for a bag, and for an order without a customer.
    /// - Parameter shopCurrency: the currency of an imported order that names none.
    init?(_ order: JSON, shopCurrency: String) {
        guard !OrderStatus.isOpen(order), let orderId = order["objectId"]?.stringValue,
            let customer = order["customer"]?.pointerTarget, Names.isObjectId(customer.objectId)
        else { return nil }
        let isCancelled = OrderStatus(order: order) == .cancelled
        let (left, isOverflow) = (order["total"]?.intValue ?? 0)
            .subtractingReportingOverflow(order["refundedTotal"]?.intValue ?? 0)
        let date = order["orderDate"]?["iso"] ?? order["createdAt"]
        self.orderId = orderId
        customerId = customer.objectId
        orders = isCancelled ? 0 : 1
        minorUnits = isCancelled || isOverflow ? 0 : max(0, left)
        currency = order.orderCurrency(shopCurrency)
        placedAt = max(1, date?.stringValue.flatMap(Timestamp.init(iso:))?.milliseconds ?? 1)
        profile = CustomerProfile(order: order)
    }
}
