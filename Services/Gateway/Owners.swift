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
        "Promotion": "push", "_Installation": "push",
    ]

    private static let functions: [String: String] = [
        "addToBag": "bag", "setBagQuantity": "bag", "emptyBag": "bag", "bag": "bag",
        "checkout": "bag", "chargeCustomer": "bag", "ChargeToken": "bag",
        "createStripeCustomer": "payments", "addPaymentMethod": "payments", "setDefaultPaymentMethod": "payments",
        "analyticsEvents": "analytics", "analyticsSeries": "analytics", "analyticsTop": "analytics",
        "analyticsActiveUsers": "analytics", "analyticsSales": "analytics", "analyticsRequests": "analytics",
        "pushOpens": "analytics",
        "crashReports": "crash", "crashIssues": "crash", "crashIssue": "crash", "crashProjects": "crash",
        "resolveCrashIssue": "crash", "ignoreCrashIssue": "crash", "reopenCrashIssue": "crash",
        "createCrashProject": "crash", "disableCrashKey": "crash",
    ]

    private static let readingFunctions: Set<String> = [
        "bag", "analyticsEvents", "analyticsSeries", "analyticsTop", "analyticsActiveUsers", "analyticsSales",
        "analyticsRequests", "pushOpens", "crashReports", "crashIssues", "crashIssue", "crashProjects",
    ]

    /// Every service of the suite, for `health`.
    static let services = ["catalog", "users", "bag", "payments", "mail", "push", "analytics", "crash"]
}
