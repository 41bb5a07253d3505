/// Satchel's cloud functions: the one list of names, owners and kinds. The gateway routes by it, the OpenAPI document
/// and `docs/reference/functions.md` list it, and `ObjectCalls` reads which functions spread.
///
/// A new function needs an entry here, a handler in its service (`routes.function`), and its parameters in
/// `Services/Gateway/Resources/OpenAPI/functions.json`.
public struct FunctionTable: Sendable {
    /// An entry of the table.
    public struct Entry: Sendable {
        /// The service that runs the function.
        public let service: String
        /// Whether it changes data; a read-only key may call the others.
        public let writes: Bool
        /// Whether any writing replica may run it, and not only the leader.
        public let spreads: Bool
    }

    /// The entries by function name.
    public static let entries: [String: Entry] = {
        var entries: [String: Entry] = [:]
        func add(_ service: String, reads: [String] = [], writes: [String] = [], spreads: [String] = []) {
            for name in reads { entries[name] = Entry(service: service, writes: false, spreads: false) }
            for name in writes { entries[name] = Entry(service: service, writes: true, spreads: false) }
            for name in spreads { entries[name] = Entry(service: service, writes: true, spreads: true) }
        }
        add(
            "catalog", reads: ["nearestStores", "reviewsToModerate", "stockMoves"],
            writes: ["hideReview", "showReview", "reportReview", "makeThumbnail"])
        add(
            "users",
            reads: [
                "sessionsOf", "auditEntries", "myAreas", "accounts", "allAccounts", "account", "deskViews", "operators",
            ],
            writes: [
                "revokeSessions", "updateAccount", "deleteAccount", "saveDeskView", "removeDeskView", "inviteOperator",
                "resendOperatorInvitation", "revokeOperatorInvitation", "acceptOperatorInvitation", "removeOperator",
                "resetOperatorFactor", "changeOperatorPassword", "setOperatorFactor",
            ])
        add(
            "bag",
            reads: ["bag", "orders", "orderRefunds", "discountCodes", "customers", "salesByProduct", "soldOrders"],
            writes: [
                "cancelOrder", "shipOrder", "correctTracking", "deliverOrder", "refundOrder", "addOrderNote",
                "removeOrderNote", "mailCustomer", "createDiscountCode", "updateDiscountCode",
                "setCustomerTags", "addCustomerNote", "removeCustomerNote",
            ],
            spreads: [
                "addToBag", "setBagQuantity", "emptyBag", "setDiscountCode", "checkout", "checkoutResult",
                "chargeCustomer", "ChargeToken", "chargeToken",
            ])
        add(
            "payments", reads: ["charges", "paymentEvents"],
            writes: [
                "createStripeCustomer", "addPaymentMethod", "setDefaultPaymentMethod", "stripeRequest", "adoptCharge",
                "sandboxAction",
            ])
        add(
            "mail", reads: ["mails", "mailContent", "suppressedAddresses"],
            writes: ["unsuppressAddress", "retryMail", "sendShopMail"])
        add(
            "push", reads: ["promotionReport", "countAudience", "orderPushes", "pushes"],
            writes: ["sendPromotion", "cancelPromotion"])
        add(
            "analytics",
            reads: [
                "analyticsEvents", "analyticsNames", "analyticsSeries", "analyticsTop", "analyticsActiveUsers",
                "analyticsRetention", "analyticsSales", "analyticsRequests", "pushOpens",
            ],
            writes: ["rebuildSales"])
        add(
            "crash",
            reads: ["crashReports", "crashIssues", "crashIssue", "crashTrend", "crashFreeRate", "crashProjects"],
            writes: [
                "resolveCrashIssue", "ignoreCrashIssue", "reopenCrashIssue", "createCrashProject", "disableCrashKey",
            ])
        add("cloud", reads: ["cloudCodeVersions"], writes: ["deployCloudCode", "activateCloudCode"])
        return entries
    }()

    /// Names by which published apps call functions. A deployed function or webhook of such a name goes first.
    public static let aliases = ["Charge": "chargeCustomer", "ChargeCustomer": "chargeCustomer"]

    /// The services with cloud functions.
    public static let services = Set(entries.values.map(\.service)).sorted()
}
