/// The states of a reservation and the effect of each message in each state. No I/O: `Reservations` performs them.
///
/// ```
///            reserve            commit
///   (none) ----------> reserved --------> committed
///      |               |   ^  |              ^
///      | release       |   |  | time         | commit (late: the customer has paid)
///      v       release v   |  v              |
///   released <---------+   +-- expired ------+
/// ```
///
/// Not drawn: a late commit also applies to an unknown and to a released reservation, and a release of an expired one
/// stores `released`.
package enum ReservationState: String, Sendable {
    /// The goods are taken out of stock until the payment ends.
    case reserved
    /// Sold.
    case committed
    /// Released; the goods are back in stock. Also stored for an id that was released before it was reserved.
    case released
    /// Expired; the goods are back in stock.
    case expired

    package enum OnReserve { case takeStock, takeStockAgain, extend, answerAsBefore, refuse }
    package enum OnCommit { case remember, takeRemaining, nothing }
    package enum OnRelease { case remember, putBack, nothing, contradiction }

    /// A new attempt to reserve. A held reservation is extended; an expired one takes the goods again at its original
    /// prices.
    package static func onReserve(_ state: ReservationState?) -> OnReserve {
        switch state {
        case nil: .takeStock
        case .expired: .takeStockAgain
        case .reserved: .extend
        case .committed: .answerAsBefore
        case .released: .refuse
        }
    }

    /// The goods are sold. This never fails, because the customer has paid. If the stock was released meanwhile, or
    /// never taken, another customer may have bought it. The remaining stock is taken, and missing pieces are reported
    /// to the operator.
    package static func onCommit(_ state: ReservationState?) -> OnCommit {
        switch state {
        case .reserved: .remember
        case .committed: .nothing
        case nil, .expired, .released: .takeRemaining
        }
    }

    package static func onRelease(_ state: ReservationState?) -> OnRelease {
        switch state {
        case nil, .expired: .remember
        case .reserved: .putBack
        case .released: .nothing
        case .committed: .contradiction
        }
    }
}
