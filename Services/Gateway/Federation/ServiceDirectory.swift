import Messages

/// The services with the classes and cloud functions that each owns. A class that is not listed belongs to the catalog.
enum ServiceDirectory {
    static func service(ofClass className: String) -> String { classes[className] ?? "catalog" }

    /// The calls that the owner of a class answers about it.
    static func calls(ofClass className: String) -> ObjectCalls { ObjectCalls(of: service(ofClass: className)) }

    /// The owner of a cloud function and whether it changes something; nil when there is none of that name.
    static func service(ofFunction name: String) -> (service: String, writes: Bool)? { functions[name] }

    /// Every cloud function.
    static var functionNames: [String] { functions.keys.sorted() }

    /// Classes that other services keep, as `FindRequest.foreign_classes` has them.
    static func classes(notOf service: String) -> [String] { service == "catalog" ? listed : ["*"] }

    private static let listed = classes.keys.sorted()

    private static let classes: [String: String] = [
        "_User": "users", "_Session": "users", "_Role": "users",
        "Order": "bag", "OrderItem": "bag", "Address": "bag", "OrderDeskNote": "bag",
        "PaymentMethod": "payments",
        "Promotion": "push", "_Installation": "push", "_PushStatus": "push", "_Audience": "push",
    ]

    /// Internal classes that `/classes` shows to the master key (PARSE_PROTOCOL section 8), and of clients to those
    /// alone whose area they belong to. They are in no pointer, include or sub-query.
    static let masterClasses: Set<String> = [
        "_PushStatus", "_Audience", "_Idempotency", "_JobStatus", "_JobSchedule",
    ]

    /// The internal classes that an area's routes are about.
    private static let deskClasses: [String: OperatorArea] = ["_JobStatus": .developers, "_JobSchedule": .developers]

    /// Whether `/classes` has an internal class for a principal.
    static func shows(_ className: String, to principal: Principal) -> Bool {
        masterClasses.contains(className)
            && (principal.master || deskClasses[className].map { principal.runs([$0]) } ?? false)
    }

    private static let functions = table(
        reading: [
            "catalog": ["nearestStores", "reviewsToModerate"],
            "users": ["sessionsOf", "auditEntries", "myAreas", "accounts", "account", "deskViews"],
            "bag": ["bag", "orders"],
            "payments": ["charges", "paymentEvents"],
            "mail": ["mails", "suppressedAddresses"],
            "push": ["promotionReport", "countAudience", "orderPushes"],
            "analytics": [
                "analyticsEvents", "analyticsSeries", "analyticsTop", "analyticsActiveUsers",
                "analyticsRetention", "analyticsSales", "analyticsRequests", "pushOpens",
            ],
            "crash": [
                "crashReports", "crashIssues", "crashIssue", "crashTrend", "crashFreeRate", "crashProjects",
            ],
            "cloud": ["cloudCodeVersions"],
        ],
        writing: [
            "catalog": ["hideReview", "showReview", "reportReview"],
            "users": ["revokeSessions", "updateAccount", "deleteAccount", "saveDeskView", "removeDeskView"],
            "bag": [
                "addToBag", "setBagQuantity", "emptyBag", "checkout", "chargeCustomer", "ChargeToken", "chargeToken",
                "cancelOrder",
                "shipOrder", "deliverOrder", "refundOrder", "addOrderNote", "removeOrderNote",
            ],
            "payments": ["createStripeCustomer", "addPaymentMethod", "setDefaultPaymentMethod", "stripeRequest"],
            "mail": ["unsuppressAddress", "retryMail", "sendShopMail"],
            "push": ["sendPromotion", "cancelPromotion"],
            "crash": [
                "resolveCrashIssue", "ignoreCrashIssue", "reopenCrashIssue", "createCrashProject", "disableCrashKey",
            ],
            "cloud": ["deployCloudCode", "activateCloudCode"],
        ])

    private static func table(
        reading: [String: [String]], writing: [String: [String]]
    ) -> [String: (service: String, writes: Bool)] {
        var table: [String: (service: String, writes: Bool)] = [:]
        for (functions, writes) in [(reading, false), (writing, true)] {
            for (service, names) in functions {
                for name in names { table[name] = (service, writes) }
            }
        }
        return table
    }

    /// The services that keep Parse objects.
    static var objectServices: [String] { Array(Set(classes.values).union(["catalog"])).sorted() }

    /// Every service of the suite, for `health`.
    static let services = ["catalog", "users", "bag", "payments", "mail", "push", "analytics", "crash", "cloud"]
}
