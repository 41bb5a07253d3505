import ParseProtocol

/// What Stripe has of the charges of the last weeks, as payments compared it day by day (`StripeBooks`). The sandbox's
/// records are in payments' database.
struct ProviderBooks {
    static let kinds = [
        CrossCheck.Kind(
            "stripe.charge", "Stripe has each charge that succeeded there.",
            "Compare with Stripe's page. A charge that was made with another account's key is not there."),
        CrossCheck.Kind(
            "stripe.unknown", "Payments knows each charge of this shop that Stripe has.",
            "Refund the charge at Stripe: no order belongs to it, unless another shop uses this account."),
        CrossCheck.Kind(
            "stripe.refund", "Payments and Stripe have the same refunds of a charge.",
            """
            Compare with Stripe's page. If it was refunded there, set the order's refundedTotal with the master key. \
            If a refund failed there, have Stripe send its event refund.failed again.
            """),
    ]

    /// The charges that began from here to `until` (milliseconds) were compared.
    private var from = Int64.max
    private var until: Int64 = 0
    /// What Stripe has of charges that differ, less their refunds there, by the operation's id.
    private var different: [String: Int64] = [:]

    /// Adds the comparison of a day.
    /// - Returns: false for the answer of a service without an outside provider.
    mutating func add(_ answer: JSON) -> Bool {
        guard let first = answer["from"]?.intValue, let end = answer["until"]?.intValue else { return false }
        from = min(from, first)
        until = max(until, end)
        for row in answer["found"]?.arrayValue ?? [] {
            if let id = row["name"]?.stringValue, let ledger = row["ledger"]?.intValue { different[id] = ledger }
        }
        return true
    }

    /// What Stripe has of a charge, less its refunds there; nil for a charge that was not compared.
    func ledger(of charge: BookRow) -> Int64? {
        let began = charge.int("stripe")
        guard charge.has("stripe"), began >= from, began < until else { return nil }
        return different[charge.key] ?? charge.int("amount") &- charge.int("refunded")
    }
}
