/// The state of an order: the field `orderState` of a made order, and `status` of the event `OrderChanged`. The one
/// home of its numbers and names for all services.
///
/// Clients written for hosted Parse know two values of `orderStatus`, 0 for the bag and 1 for a made order, and ask for
/// 1 to show a history. So `orderStatus` stays 1 for ever, and what happens afterwards has a field of its own.
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

    /// Nil for a state that is none of ours, as an import may bring.
    ///
    /// Orders of earlier builds say it by `orderStatus` alone; `OrderStates` converts them.
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

    /// From the `status` of an `OrderChanged`; nil for one that this release does not know.
    package init?(event: Int32) { self.init(rawValue: Int64(event)) }

    /// Whether an order is a bag. One that does not say what it is, as an import may bring, is none.
    package static func isOpen(_ order: JSON) -> Bool { order["orderStatus"]?.intValue == Self.open.wireStatus }

    package static let ofMadeOrders = allCases.filter { $0 != .open }

    /// The value of `orderState`; nil for the bag, which has none.
    package var state: String? { self == .open ? nil : "\(self)" }

    /// As `OrderChanged` carries it.
    package var event: Int32 { Int32(clamping: rawValue) }

    /// The value of `orderStatus`.
    package var wireStatus: Int64 { self == .open ? 0 : 1 }

    /// As sentences say it: "The order is shipped."
    package var word: String { state ?? "still in the bag" }

    /// Whether the order was paid, and neither cancelled nor refunded since.
    package var isPaid: Bool { self == .made || self == .shipped || self == .delivered }

    /// Whether the order went on no further: what was paid, or some of it, went back.
    package var isGivenUp: Bool { self == .cancelled || self == .refunded }

    /// The fields of an order that say it.
    package var fields: [String: JSON] {
        ["orderStatus": .int(wireStatus), "orderState": state.map(JSON.string) ?? .null]
    }
}
