import ParseProtocol

/// Fields that Satchel fills or changes itself, so that they may differ from the old server's.
enum SuiteFields {
    /// Fields that are never compared, each with the reason.
    static let own: [String: [String: String]] = [
        "_User": [
            "password": "No read shows it; a sign-in proves that the moved hash works.",
            "sessionToken": "A token belongs to a session.",
            "isAdmin": "Only the role `admins` makes admins.",
        ],
        "_Session": [
            "sessionToken": "Satchel stores only its keyed hash; a request proves that it works.",
            "restricted": "Parse Server has no restricted sessions.",
            "ACL": "A session is its user's alone.",
        ],
        "_Product": ["download": "Satchel gives the product a private copy under a new name."],
        "Product": [
            "ratingAverage": "Satchel computes it from the reviews.", "ratingCount": "Satchel counts the reviews.",
        ],
    ]

    /// Fields that Satchel adds to objects without them: owners' ACLs, and states of products, orders and reviews.
    static let added: [String: Set<String>] = [
        "_User": ["ACL"], "Address": ["ACL"], "FavoriteProduct": ["ACL"], "PaymentMethod": ["ACL"],
        "Order": ["ACL", "orderState", "orderStatus", "fulfillmentStatus", "paymentStatus"],
        "OrderItem": ["ACL", "customer"],
        "Product": ["active"],
        "ProductReview": ["ACL", "authorName", "moderation"],
    ]

    /// Classes whose permissions are Satchel's own.
    static let definedClasses: Set<String> = [
        "Address", "Category", "FavoriteProduct", "Order", "OrderItem", "Page", "PaymentMethod", "Product",
        "ProductReview", "Promotion", "Store", "_Product", "_User", "_Session", "_Role", "_Installation", "_Audience",
        "_PushStatus", "_JobStatus", "_JobSchedule",
    ]

    /// Providers of sign-ins that Satchel has. An import leaves the links to others out.
    static let providers: Set<String> = ["anonymous", "facebook", "twitter", "apple", "google"]

    /// Whether messages must not show the field's values.
    static func isSecret(_ field: String) -> Bool {
        let name = field.lowercased()
        return name == "authdata" || ["password", "token", "secret"].contains { name.contains($0) }
    }
}
