import BagService
import ObjectStore
import ParseProtocol
import TestSupport
import Testing

/// Orders, lines and addresses that earlier releases imported without an ACL.
@Suite struct ImportedItemsTests {
    @Test func rowsWithoutAnACLGetTheirOwners() async throws {
        let bag = try await BagStore()
        let kept: JSON = ["friend": ["read": true]]
        let ids = try await bag.store.write { transaction in
            func make(_ className: String, _ fields: JSON) throws -> String {
                try transaction.create(className, fields, caller: .master).objectId
            }
            let user = JSON.pointer("_User", "u1")
            let line = try make("OrderItem", ["quantity": 1])
            return [
                line, try make("OrderItem", ["quantity": 1]),
                try make("Order", ["customer": user, "items": [.pointer("OrderItem", line)]]),
                try make("Order", ["orderStatus": 1]), try make("Order", ["customer": user, "ACL": kept]),
                try make("Address", ["owner": user]),
            ]
        }
        func documents() async throws -> [JSON] {
            var found: [JSON] = []
            for (id, name) in zip(ids, ["OrderItem", "OrderItem", "Order", "Order", "Order", "Address"]) {
                found.append(try #require(await bag.document(name, id)))
            }
            return found
        }
        let before = try await documents()
        // A repetition changes nothing.
        for _ in 0..<2 { try await bag.store.write { try ImportedItems.addMissingACLs(in: $0) } }
        let after = try await documents()
        let customers: JSON = ["u1": ["read": true], "role:admins": ["read": true]]
        #expect(after.map { $0["ACL"] } == [customers, [:], customers, [:], kept, .privateACL("u1")])
        #expect(after[0]["customer"] == .pointer("_User", "u1"))
        #expect(after.map { $0["updatedAt"] } == before.map { $0["updatedAt"] })
    }
}
