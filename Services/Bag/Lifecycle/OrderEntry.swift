import ParseProtocol

/// A placed order as lists sort, filter and search it: a row of `orderEntries`, and its words. No I/O.
struct OrderEntry: Equatable {
    let orderId: String
    let orderNo: Int64
    /// Milliseconds; `noDate` for an order without a date.
    let orderedAt: Int64
    let total: Int64
    /// The recipient in comparable form, the last name first.
    let byName: String
    let state: String
    let code: String
    /// The words by which a search finds the order.
    let words: Set<String>
    /// The order names no e-mail address; its customer had one at the checkout.
    let lacksEmail: Bool

    static let noDate = Int64.min
    /// An import may bring longer texts.
    private static let charactersMax = 200
    private static let laterStates = OrderStatus.ofMadeOrders.filter { $0 != .made }.compactMap(\.state)

    /// Nil for a bag.
    init?(_ order: JSON) {
        guard !OrderStatus.isOpen(order), let orderId = order["objectId"]?.stringValue else { return nil }
        func text(_ value: JSON?) -> String { String((value?.stringValue ?? "").prefix(Self.charactersMax)) }
        let state = text(order["orderState"])
        let names = ["lastName", "firstName"].map { text(order["shippingAddress"]?[$0]) }.filter { !$0.isEmpty }
        let tracking = text(order["trackingNumber"])
        let profile = CustomerProfile(order: order)
        self.orderId = orderId
        orderNo = order["orderNo"]?.intValue ?? 0
        orderedAt =
            order["orderDate"]?["iso"]?.stringValue.flatMap(Timestamp.init(iso:))?.milliseconds ?? Self.noDate
        let amount = order["total"]
        // An import may bring a fraction.
        total = amount?.intValue ?? (amount?.doubleValue).flatMap { Int64(exactly: $0.rounded()) } ?? 0
        byName = CustomerProfile.folded(names.joined(separator: " "))
        // An imported order may be marked as placed by `orderStatus` alone.
        self.state = Self.laterStates.contains(state) ? state : OrderStatus.made.state ?? ""
        code = text(order["discountCode"])
        // Operators also type a tracking number without its gaps.
        let texts = [tracking, tracking.filter { $0.isLetter || $0.isNumber }, String(orderNo)]
        words = profile.words.union(texts.flatMap { CustomerProfile.words(of: $0) })
        lacksEmail = profile.email.isEmpty && order["customer"]?.pointerTarget != nil
    }
}
