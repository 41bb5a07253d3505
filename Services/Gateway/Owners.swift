/// Which service owns what. A class that is not listed belongs to the catalog.
enum Owners {
    static func service(ofClass className: String) -> String { classes[className] ?? "catalog" }

    /// The owner of a cloud function and whether it only reads; nil when there is none of that name.
    static func service(ofFunction name: String) -> (service: String, writes: Bool)? {
        functions[name].map { ($0, !readingFunctions.contains(name)) }
    }

    private static let classes: [String: String] = [
        "_User": "users", "_Session": "users", "_Role": "users",
        "Order": "bag", "OrderItem": "bag",
        "PaymentMethod": "payments",
        "Promotion": "push", "_Installation": "push", "_PushStatus": "push", "_Audience": "push",
    ]

    /// Internal classes that `/classes` shows to the master key and to nobody else (PARSE_PROTOCOL section 8). They are in no
    /// pointer, include or sub-query.
    static let masterClasses: Set<String> = ["_PushStatus", "_Audience"]

    private static let functions: [String: String] = [
        "addToBag": "bag", "setBagQuantity": "bag", "emptyBag": "bag", "bag": "bag",
        "checkout": "bag", "chargeCustomer": "bag", "ChargeToken": "bag",
        "createStripeCustomer": "payments", "addPaymentMethod": "payments", "setDefaultPaymentMethod": "payments",
        "analyticsEvents": "analytics", "crashReports": "crash",
        "sendPromotion": "push", "cancelPromotion": "push", "promotionReport": "push",
    ]

    private static let readingFunctions: Set<String> = ["bag", "analyticsEvents", "crashReports", "promotionReport"]

    /// Every service of the suite, for `health`.
    static let services = ["catalog", "users", "bag", "payments", "mail", "push", "analytics", "crash"]
}
