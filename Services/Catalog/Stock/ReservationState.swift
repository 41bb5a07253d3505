/// The states of a reservation, and what each message means in them. No I/O: `Reservations` does what these say.
///
/// ```
///            reserve            commit
///   (none) ----------> reserved --------> committed
///      |               |   ^  |              ^
///      | release       |   |  | time         | commit (late: the customer has paid)
///      v       release v   |  v              |
///   released <---------+   +-- expired ------+
/// ```
package enum ReservationState: String, Sendable {
    /// The goods are out of stock and wait for the payment.
    case reserved
    /// Sold.
    case committed
    /// Given up; the goods are in stock. Also what is remembered of an id that was released before it was reserved.
    case released
    /// Its time was up; the goods are in stock.
    case expired

    package enum OnReserve { case takeStock, takeStockAgain, extend, answerAsBefore, refuse }
    package enum OnCommit { case remember, takeWhatIsLeft, nothing }
    package enum OnRelease { case remember, putBack, nothing, contradiction }

    /// A new attempt to reserve. One that is held lives longer from now on; an expired one takes the goods again at the
    /// prices it promised.
    package static func onReserve(_ state: ReservationState?) -> OnReserve {
        switch state {
        case nil: .takeStock
        case .expired: .takeStockAgain
        case .reserved: .extend
        case .committed: .answerAsBefore
        case .released: .refuse
        }
    }

    /// The goods are sold: the customer has paid, so this never fails. When the stock was given back in the meantime
    /// (or never taken) somebody else may have bought it; what is left is taken, and what is missing is for the
    /// operator to know.
    package static func onCommit(_ state: ReservationState?) -> OnCommit {
        switch state {
        case .reserved: .remember
        case .committed: .nothing
        case nil, .expired, .released: .takeWhatIsLeft
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
