import ParseProtocol
import TestSupport
import Testing

/// Notes on orders over HTTP: rights to write and read, and the entries in the audit log. Id T14i of
/// docs/internals/hardening.md.
@Suite struct OrderNoteScenarioTests {
    /// A customer with a placed order.
    private static func order(_ suite: Suite) async throws -> (customer: Customer, id: String) {
        let shelf = try await Shelf.fill(suite, names: ["Note \(Names.random(6))"])
        let customer = try await Customer.signUp(suite)
        _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
        let receipt = try await customer.client.run(
            "checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
        guard receipt.status == 200 else { throw Unexpected("checkout", receipt) }
        return (customer, receipt.result.text("orderId"))
    }

    /// T14i
    @Test func theDeskWritesAndReadsAndTheCustomerSeesNothing() async throws {
        let desk = try await Desk.shared
        let (customer, id) = try await Self.order(desk.suite)
        let clerk = try desk.member(of: "order-desk")
        let word = "secretly\(Names.random(6))"
        let wish: JSON = ["orderId": .string(id), "text": .string("Pays late, \(word).")]
        let written = try await clerk.client.run("addOrderNote", wish)
        try #require(written.status == 200, "\(written.text)")
        #expect(written.result["author"] == clerk.pointer)
        #expect(written.result["authorName"]?.stringValue?.isEmpty == false)
        let ofOrder: JSON = ["order": .pointer("Order", id)]
        for role in Desk.roles {
            let client = try desk.member(of: role).client
            let found = try await client.find("OrderDeskNote", ofOrder)
            if ["order-desk", "support"].contains(role) {
                #expect(found.results.map(\.objectId) == [written.result.objectId], "\(role): \(found.text)")
            } else {
                #expect(found.code == 119, "\(role)")
            }
            guard role != "order-desk" else { continue }
            #expect(try await client.run("addOrderNote", wish).code == 119, "\(role)")
        }
        // The customer sees them neither as objects nor with the order.
        #expect(try await customer.client.find("OrderDeskNote", ofOrder).code == 119)
        #expect(try await customer.client.run("addOrderNote", wish).code == 119)
        let noted: JSON = [
            "objectId": ["$select": ["query": ["className": "OrderDeskNote", "where": [:]], "key": "order.objectId"]]
        ]
        for answer in [
            try await customer.client.get("/classes/Order/\(id)", ["include": "*"]),
            try await customer.client.find("Order", noted),
            try await customer.client.get("/classes/OrderDeskNote/\(written.result.objectId)"),
        ] {
            #expect(!answer.text.contains(word), "\(answer.text)")
        }
        let exported = try await desk.admin.get("/export/OrderDeskNote", ["where": ofOrder])
        #expect(exported.text.contains(word), "\(exported.text)")
    }

    /// T14i
    @Test func theAuditLogSaysThatANoteWasWrittenAndNotWhatItSays() async throws {
        let desk = try await Desk.shared
        let (_, id) = try await Self.order(desk.suite)
        let clerk = try desk.member(of: "order-desk")
        let word = "secretly\(Names.random(6))"
        let note = try await clerk.client.run(
            "addOrderNote", ["orderId": .string(id), "text": .string(word)])
        let noteId: JSON = ["noteId": .string(note.result.objectId)]
        // Only admins remove another operator's note.
        let other = try await desk.admin.run("addOrderNote", ["orderId": .string(id), "text": "By an admin."])
        #expect(
            try await clerk.client.run("removeOrderNote", ["noteId": .string(other.result.objectId)]).code == 119)
        #expect(try await desk.admin.run("removeOrderNote", noteId).status == 200)
        #expect(try await desk.admin.run("removeOrderNote", noteId).code == 101)
        let filter: JSON = ["className": "Order", "objectId": .string(id)]
        var text = ""
        try await eventually("the audit log has both") {
            text = try await desk.admin.run("auditEntries", filter).text
            return text.contains("\"addOrderNote\"") && text.contains("\"removeOrderNote\"")
        }
        #expect(text.contains(note.result.objectId))
        #expect(!text.contains(word), "\(text)")
        #expect(
            try await clerk.client.run("addOrderNote", ["orderId": .string(id), "text": "4242 4242 4242 4242"]).code
                == 142)
    }
}
