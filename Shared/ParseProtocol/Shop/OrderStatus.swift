/// The state of an order: the field `orderState` of a made order, and `status` of the event `OrderChanged`. All
/// services take its numbers and names from here.
///
/// Clients written for hosted Parse know two values of `orderStatus`, 0 for the bag and 1 for a made order, and query 1
/// to show a history. So `orderStatus` always stays 1, and the separate field `orderState` has the later states.
package enum OrderStatus: Int64, Sendable, CaseIterable {
    /// In the bag.
    case open = 0
    /// Paid, waits for shipping.
    case made = 1
    case shipped = 2
    case delivered = 3
    /// Cancelled before shipping; the payment was refunded.
    case cancelled = -1
    /// All of the payment was refunded. A partial refund leaves the state unchanged (`OrderDimensions.payment`).
    case refunded = -2

    /// Nil for an unknown state, for example of an imported order.
    ///
    /// Orders of earlier builds have only `orderStatus`; `OrderStates` converts them.
    package init?(order: JSON) {
        switch order["orderStatus"]?.intValue {
        case Self.open.wireStatus?: self = .open
        case Self.made.wireStatus?:
            guard let state = order["orderState"], !state.isNull else {
                self = .made
                return
            }
            guard let known = state.stringValue.flatMap(Self.init(state:)) else { return nil }
            self = known
        case let number?: self.init(rawValue: number)
        case nil: return nil
        }
    }

    /// From a value of `orderState`.
    package init?(state: String) {
        guard let status = Self.ofMadeOrders.first(where: { $0.state == state }) else { return nil }
        self = status
    }

    /// From the `status` of an `OrderChanged`; nil for a state that this release does not know.
    package init?(event: Int32) { self.init(rawValue: Int64(event)) }

    /// Whether an order is a bag. An order without `orderStatus`, for example an imported one, is not.
    package static func isOpen(_ order: JSON) -> Bool { order["orderStatus"]?.intValue == Self.open.wireStatus }

    package static let ofMadeOrders = allCases.filter { $0 != .open }

    /// The value of `orderState`; nil for the bag, which has none.
    package var state: String? {
        switch self {
        case .open: nil
        case .made: "made"
        case .shipped: "shipped"
        case .delivered: "delivered"
        case .cancelled: "cancelled"
        case .refunded: "refunded"
        }
    }

    /// The value in `OrderChanged`.
    package var event: Int32 { Int32(clamping: rawValue) }

    /// The value of `orderStatus`.
    package var wireStatus: Int64 { self == .open ? 0 : 1 }

    /// The form in sentences: "The order is shipped."
    package var word: String { self == .made ? "placed" : state ?? "still in the bag" }

    /// Whether the order was paid, and neither cancelled nor refunded since.
    package var isPaid: Bool { self == .made || self == .shipped || self == .delivered }

    /// Whether the order ended early: it was cancelled, or its payment refunded.
    package var isGivenUp: Bool { self == .cancelled || self == .refunded }

    /// The fields of an order for this state.
    package var fields: [String: JSON] {
        ["orderStatus": .int(wireStatus), "orderState": state.map(JSON.string) ?? .null]
    }
}
