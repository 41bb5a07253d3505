/// What all orders in one currency of one day brought in, less refunds, as each service has it.
struct BookSums {
    struct Day: Hashable, Comparable {
        /// Days since 1970 (UTC), of the order.
        let day: Int64
        let currency: String

        static func < (one: Day, other: Day) -> Bool { (one.day, one.currency) < (other.day, other.currency) }
    }

    private(set) var orders: Int64 = 0
    private(set) var bag: Int64 = 0
    private(set) var payments: Int64 = 0
    private(set) var analytics: Int64 = 0
    private var ledger: Int64?
    /// Whether a charge was not compared with Stripe.
    private var isPartial = false

    /// Of the sandbox or Stripe; nil without a charge there, and for days that were not compared with Stripe.
    var provider: Int64? { isPartial ? nil : ledger }

    /// Adds the rows of one checkout or of one order.
    static func add(_ group: CrossCheck.Group, _ provider: ProviderBooks, to days: inout [Day: BookSums]) {
        if let checkout = group[.checkouts], checkout.text("state") == "made" {
            let day = day(of: checkout)
            days[day, default: BookSums()].orders += 1
            days[day, default: BookSums()].bag &+= rest(checkout)
            if let charge = group[.charges], charge.text("state") == "succeeded" {
                days[day, default: BookSums()].payments &+= rest(charge)
                let ledger = charge.has("ledger") ? charge.int("ledger") : provider.ledger(of: charge)
                if let ledger {
                    let before = days[day]?.ledger ?? 0
                    days[day, default: BookSums()].ledger = before &+ ledger
                } else if charge.has("stripe") {
                    days[day, default: BookSums()].isPartial = true
                }
            }
        }
        if let order = group[.paidOrders], let sale = group[.sales] {
            days[day(of: order), default: BookSums()].analytics &+= rest(sale)
        }
    }

    private static func day(of order: BookRow) -> Day {
        Day(day: order.int("at") / BookTables.day, currency: order.text("currency"))
    }

    private static func rest(_ row: BookRow) -> Int64 { row.int("amount") &- row.int("refunded") }
}
