/// A sampled read, as far as the comparison of its responses needs it.
package struct ShadowQuestion: Sendable {
    package let className: String
    /// Nil for a query.
    package let objectId: String?
    /// Whether the query has an `order`.
    package let isOrdered: Bool
    package let skip: Int
    /// The largest number of objects in the response.
    package let limit: Int

    package init(
        _ className: String, _ objectId: String? = nil, isOrdered: Bool = false, skip: Int = 0, limit: Int = 100
    ) {
        self.className = className
        self.objectId = objectId
        self.isOrdered = isOrdered
        self.skip = skip
        self.limit = limit
    }
}

/// The differences that are expected after a move. They are counted by rule and are no differences of a field.
package enum ShadowRule: String, CaseIterable, Sendable {
    /// Another `updatedAt`: one server has a later write, whose fields count on their own.
    case updatedAt
    /// A File of the same name at another URL.
    case fileURL
    /// A query without `order`: another order, and other objects when `limit` or `skip` cut the list.
    case order
    /// A field that Satchel adds to objects of its own classes.
    case addedField

    /// By class, the fields that Satchel adds.
    static let addedFields: [String: Set<String>] = [
        "Product": ["active", "ratingAverage", "ratingCount"],
        "ProductReview": ["ACL", "authorName", "moderation", "moderationReason"],
        "Page": ["ACL", "published"],
        "Order": [
            "ACL", "currency", "email", "orderState", "fulfillmentStatus", "paymentStatus", "shippedAt", "deliveredAt",
            "cancelledAt", "refundedAt", "refundedTotal", "refundState", "discountMinorUnits", "trackingCorrections",
        ],
        "OrderItem": ["ACL", "customer", "name", "unitPriceMinorUnits", "discountMinorUnits"],
    ]
}
