import ObjectStore
import ParseProtocol
import ServiceKit

/// The owners of imported lines. A line from hosted Parse names no customer; its order does, and it may be imported
/// before or after the line.
package enum ImportedItems {
    /// Lines that an order referenced before they were imported.
    static let table = [
        """
        CREATE TABLE expectedItems(itemId TEXT PRIMARY KEY, customerId TEXT NOT NULL) WITHOUT ROWID
        """,
        "CREATE INDEX expectedItemsByCustomer ON expectedItems(customerId)",
    ]

    /// Gives a new line without a customer the customer of the order that references it.
    static func complete(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        if let id = change.objectId {
            let expected = try transaction.rows("SELECT customerId FROM expectedItems WHERE itemId = ?", [.text(id)])
            if let customer = try expected.first?.text("customerId") {
                if change.object["customer"]?.isNull ?? true { change.object["customer"] = .pointer("_User", customer) }
                try transaction.execute("DELETE FROM expectedItems WHERE itemId = ?", [.text(id)])
            }
        }
        change.defaultACL(from: "customer", acl: Privacy.acl)
    }

    /// Gives the lines of an order that the master key saved that order's customer, and records lines that do not exist
    /// yet.
    package static func adopt(_ order: JSON, in transaction: StoreTransaction) throws {
        guard let customer = order["customer"]?.pointerTarget?.objectId else { return }
        let ids = order.itemIds
        let found = try transaction.fetch("OrderItem", ids: ids, keys: [], caller: .master)
            .map { try JSON(parsing: $0.document) }
        for item in found where item["customer"]?.pointerTarget == nil {
            guard let id = item["objectId"]?.stringValue else { continue }
            var changes: JSON = ["customer": .pointer("_User", customer), "updatedAt": item["updatedAt"] ?? .null]
            // An ACL that the import brought is kept.
            if item["ACL"] == nil || item["ACL"] == [:] { changes["ACL"] = Privacy.acl(customer) }
            _ = try transaction.update("OrderItem", id, changes, keepsTimes: true, caller: .master)
        }
        for id in Set(ids).subtracting(found.compactMap { $0["objectId"]?.stringValue }) {
            try transaction.execute(
                """
                INSERT INTO expectedItems(itemId, customerId) VALUES (?, ?)
                ON CONFLICT(itemId) DO UPDATE SET customerId = excluded.customerId
                """, [.text(id), .text(customer)])
        }
    }

    static func forget(_ customerId: String, in transaction: StoreTransaction) throws {
        try transaction.execute("DELETE FROM expectedItems WHERE customerId = ?", [.text(customerId)])
    }

    /// Sets ACLs on addresses, orders and lines that earlier releases imported without one. Every account could read
    /// them.
    package static func addMissingACLs(in transaction: StoreTransaction) throws {
        try transaction.closeObjects("Address", owner: "owner", acl: JSON.privateACL)
        try transaction.closeObjects("Order", owner: "customer", acl: Privacy.acl)
        guard transaction.hasClass("OrderItem"), transaction.hasClass("Order") else { return }
        var unowned: Set<String> = []
        try transaction.forAll("OrderItem") { id, item in
            if item["customer"]?.pointerTarget == nil { unowned.insert(id) }
        }
        if !unowned.isEmpty {
            try transaction.forAll("Order") { _, order in
                if !unowned.isDisjoint(with: order.itemIds) { try adopt(order, in: transaction) }
            }
        }
        try transaction.closeObjects("OrderItem", owner: "customer", acl: Privacy.acl)
    }
}
