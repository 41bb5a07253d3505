import ObjectStore
import ParseProtocol
import ServiceKit

/// The move of everything beside the bag that the service has of an anonymous user who signs in to an account. That
/// user ends, and nobody could reach it any more.
extension BagMerge {
    /// Made orders and addresses become the account's. Lines that are in no order go.
    static func moveHistory(from: String, to: String, in transaction: StoreTransaction) throws {
        let mine: JSON = ["customer": .pointer("_User", to), "ACL": Privacy.acl(to)]
        let made: JSON = ["orderStatus": ["$ne": .int(OrderStatus.open.wireStatus)]]
        try transaction.forEach("Order", of: from, "customer", where: made) { id, _ in
            _ = try transaction.update("Order", id, mine, caller: .master)
        }
        try transaction.forEach("OrderItem", of: from, "customer") { id, item in
            if item["unitPriceMinorUnits"]?.intValue == nil {
                _ = try transaction.delete("OrderItem", id, caller: .master)
            } else {
                _ = try transaction.update("OrderItem", id, mine, caller: .master)
            }
        }
        let hasDefault = try AddressBook.all(of: to, in: transaction).contains { $0["default"] == true }
        try transaction.forEach("Address", of: from, "owner") { id, address in
            var changes: JSON = ["owner": .pointer("_User", to), "ACL": .privateACL(to)]
            if hasDefault, address["default"] == true { changes["default"] = false }
            _ = try transaction.update("Address", id, changes, caller: .master)
        }
        // Keys stay the anonymous user's: the account may have used the same ones.
        _ = try transaction.execute(
            "UPDATE checkouts SET customerId = ? WHERE customerId = ?", [.text(to), .text(from)])
    }
}
