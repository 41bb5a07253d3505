/// `orderStatus` of an order, as clients know it.
package enum OrderStatus: Int64, Sendable, CaseIterable {
    /// In the bag.
    case open = 0
    /// Paid, waits to be shipped.
    case made = 1
    case shipped = 2
    case delivered = 3
    /// Given up before it was shipped; what was paid went back.
    case cancelled = -1
    /// All or some of what was paid went back.
    case refunded = -2

    /// As sentences say it: "The order is shipped."
    package var word: String {
        switch self {
        case .open: "still in the bag"
        case .made: "made"
        case .shipped: "shipped"
        case .delivered: "delivered"
        case .cancelled: "cancelled"
        case .refunded: "refunded"
        }
    }
}
