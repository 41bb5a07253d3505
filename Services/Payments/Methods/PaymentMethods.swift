import ObjectStore
import ParseProtocol
import ServiceKit

extension ClassDefinition {
    /// The parts of a card that may be stored here: brand, last four digits and expiry. The provider has the card
    /// itself, one customer there for each payment method here.
    static let paymentMethod = ClassDefinition(
        PaymentMethods.className,
        fields: [
            "type": .string, "stripeCustomerId": .string, "lastFourDigit": .string, "expirationMonth": .number,
            "expirationYear": .number, "owner": .pointer("_User"), "default": .boolean,
        ],
        indexes: [["owner", "createdAt"]],
        uniqueIndexes: [["stripeCustomerId"]],
        permissions: ClassPermissions(
            find: .signedIn, count: .signedIn, get: .signedIn, create: .signedIn, update: .signedIn, delete: .signedIn))
}

/// A user's payment methods. Exactly one is the default while there is at least one.
package enum PaymentMethods {
    static let className = "PaymentMethod"
    /// Maximum per user. Bounds the cost of changing the default.
    private static let perUserMax = 100

    /// Stores a new customer's card. The first one becomes the default.
    package static func keep(
        _ customer: ProviderCustomer, owner: String, in transaction: StoreTransaction
    ) throws -> JSON {
        let others = try all(of: owner, in: transaction)
        guard others.count < perUserMax else { throw tooMany }
        return try transaction.create(
            className,
            [
                "type": .string(customer.card.brand), "stripeCustomerId": .string(customer.id),
                "lastFourDigit": .string(customer.card.lastFourDigits),
                "expirationMonth": .int(Int64(customer.card.expirationMonth)),
                "expirationYear": .int(Int64(customer.card.expirationYear)), "owner": .pointer("_User", owner),
                "default": .bool(others.isEmpty), "ACL": .privateACL(owner),
            ], caller: .master
        ).document
    }

    static let tooMany = ParseError(.validationError, "At most \(perUserMax) payment methods can be stored.")

    /// Checked before the provider creates a customer: otherwise a customer that cannot be stored would be orphaned
    /// there.
    package static func hasRoom(for owner: String, in store: ObjectReader) throws -> Bool {
        try all(of: owner, in: store).count < perUserMax
    }

    /// Makes a payment method of `owner` the default and clears the flag of the others.
    /// - Returns: its document.
    @discardableResult
    static func makeDefault(_ objectId: String, owner: String, in transaction: StoreTransaction) throws -> JSON {
        for method in try all(of: owner, in: transaction) where method["default"] == true {
            guard let id = method["objectId"]?.stringValue, id != objectId else { continue }
            _ = try transaction.update(className, id, ["default": false], caller: .master)
        }
        let document = try transaction.document(className, objectId, caller: .master)
        if document["default"] == true { return document }
        return try transaction.update(className, objectId, ["default": true], caller: .master).document
    }

    /// The provider's customer of the method of `owner` that matches `condition`.
    /// - Throws: `.objectNotFound` (101) when there is none.
    static func customer(
        where condition: [String: JSON], owner: String, in transaction: StoreTransaction
    ) throws -> String {
        let conditions = condition.merging(["owner": .pointer("_User", owner)]) { _, owner in owner }
        let query = Query(className: className, where: .object(conditions), limit: 1)
        guard let customer = try transaction.documents(query, caller: .master).first?["stripeCustomerId"]?.stringValue
        else {
            throw ParseError.objectNotFound
        }
        return customer
    }

    static func find(customer: String, owner: String, in transaction: StoreTransaction) throws -> JSON? {
        let query = Query(
            className: className, where: ["stripeCustomerId": .string(customer), "owner": .pointer("_User", owner)],
            limit: 1)
        return try transaction.documents(query, caller: .master).first
    }

    /// Newest first.
    static func all(of owner: String, in store: ObjectReader) throws -> [JSON] {
        try store.documents(
            Query(
                className: className, where: ["owner": .pointer("_User", owner)], order: ["-createdAt"],
                limit: perUserMax),
            caller: .master)
    }
}
