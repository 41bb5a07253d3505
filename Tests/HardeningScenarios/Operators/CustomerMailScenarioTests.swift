import ParseProtocol
import TestSupport
import Testing

/// Mails that operators write to customers, over HTTP: rights, sending, keeping, the log and the quota.
@Suite struct CustomerMailScenarioTests {
    /// A customer with a placed order.
    private static func order(_ suite: Suite) async throws -> (customer: Customer, id: String, number: JSON) {
        let shelf = try await Shelf.fill(suite, names: ["Mail \(Names.random(6))"])
        let customer = try await Customer.signUp(suite)
        _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
        let receipt = try await customer.client.run(
            "checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
        guard receipt.status == 200 else { throw Unexpected("checkout", receipt) }
        return (customer, receipt.result.text("orderId"), receipt.result["orderNo"] ?? .null)
    }

    @Test func aMailToAnOrdersCustomerIsSentAsTextAndKept() async throws {
        let desk = try await Desk.shared
        let (customer, id, number) = try await Self.order(desk.suite)
        let clerk = try desk.member(of: "order-desk")
        let word = "word\(Names.random(6))"
        let wish: JSON = [
            "orderId": .string(id), "subject": .string("Your <order> \(word)"),
            "text": .string("Hello,\n<img src=x> \(word) & more"),
        ]
        let sent = try await clerk.client.run("mailCustomer", wish)
        try #require(sent.status == 200, "\(sent.text)")
        #expect(sent.result["author"] == clerk.pointer)
        try await eventually("the mail is sent") {
            desk.suite.mails().contains { mail in
                mail.header("Subject") == "Your <order> \(word)" && mail.header("Reply-To") == nil
                    && mail.header("To")?.contains(customer.email) == true
                    && mail.text.contains("<img src=x> \(word) & more") && !mail.source.contains("text/html")
            }
        }
        let listed = try await clerk.client.run("mails", ["orderNo": number])
        #expect(listed.result.arrayValue?.contains { $0["template"] == "message" } == true, "\(listed.text)")

        let ofOrder: JSON = ["order": .pointer("Order", id)]
        let found = try await desk.member(of: "support").client.find("OrderDeskNote", ofOrder)
        #expect(found.results.first?["subject"] == wish["subject"], "\(found.text)")
        #expect(found.results.first?["text"] == wish["text"])
        #expect(found.results.first?["customer"] == customer.pointer)
        // It is the record of a mail that cannot be taken back.
        let noteId: JSON = ["noteId": .string(sent.result.objectId)]
        #expect(try await desk.admin.run("removeOrderNote", noteId).code == 119)
        #expect(try await customer.client.run("mailCustomer", wish).code == 119)
        #expect(try await customer.client.find("OrderDeskNote", ofOrder).code == 119)
        var log = ""
        try await eventually("the mail is in the audit log") {
            log = try await desk.admin.run(
                "auditEntries", ["className": "Order", "objectId": .string(id)]
            ).text
            return log.contains("\"mailCustomer\"")
        }
        #expect(!log.contains(word), "\(log)")
    }

    @Test func supportWritesToAnyUserAndTheMailEndsWithTheAccount() async throws {
        let desk = try await Desk.shared
        let support = try desk.member(of: "support").client
        let customer = try await Customer.signUp(desk.suite)
        let subject = "Your review \(Names.random(6))"
        let wish: JSON = ["userId": .string(customer.userId), "subject": .string(subject), "text": "Thank you."]
        #expect(try await desk.member(of: "order-desk").client.run("mailCustomer", wish).code == 119)
        let sent = try await support.run("mailCustomer", wish)
        try #require(sent.status == 200, "\(sent.text)")
        try await eventually("the mail is sent") {
            desk.suite.mails().contains { $0.header("Subject") == subject }
        }
        let ofCustomer: JSON = ["customer": customer.pointer]
        #expect(try await support.find("OrderDeskNote", ofCustomer).results.map(\.objectId) == [sent.result.objectId])
        #expect(try await customer.client.call(.DELETE, "/users/\(customer.userId)").status == 200)
        try await eventually("the mail is forgotten") {
            try await support.find("OrderDeskNote", ofCustomer).results.isEmpty
        }
        #expect(try await support.run("mailCustomer", wish).code == 101)
    }

    @Test(
        arguments: [
            (["subject": "Hi"], 142), (["text": "Hi"], 142), (["subject": " ", "text": "Hi"], 142),
            (["subject": "Hi\r\nBcc: x@evil.example", "text": "Hi"], 142), (["subject": 5, "text": "Hi"], 111),
            (["subject": "Hi", "text": "a\u{0}"], 142), (["subject": "Hi", "text": "Hi", "html": "<b>"], 142),
            (["subject": "Hi", "text": "4242 4242 4242 4242"], 142),
            (["subject": .string(String(repeating: "x", count: 201)), "text": "Hi"], 142),
            (["subject": "Hi", "text": "Hi", "orderId": "missing"], 101),
            (["subject": "Hi", "text": "Hi", "orderId": .null], 142), (["subject": "Hi", "text": "Hi"], 142),
        ] as [(JSON, Int)])
    func whatIsNoMailIsRefused(_ members: JSON, _ code: Int) async throws {
        let desk = try await Desk.shared
        let answer = try await desk.admin.run("mailCustomer", members)
        #expect(answer.code == code, "\(answer.text)")
    }

    @Test func theQuotaOfAnAddressHoldsMails() async throws {
        let desk = try await Desk.shared
        let (_, id, number) = try await Self.order(desk.suite)
        let clerk = try desk.member(of: "order-desk").client
        for turn in 0..<12 {
            let wish: JSON = ["orderId": .string(id), "subject": .string("Turn \(turn)"), "text": "Hi"]
            #expect(try await clerk.run("mailCustomer", wish).status == 200)
        }
        try await eventually("a mail is held") {
            try await clerk.run("mails", ["orderNo": number, "state": "held"]).result.arrayValue?.isEmpty == false
        }
    }
}
