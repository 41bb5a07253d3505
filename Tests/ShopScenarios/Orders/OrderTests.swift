import ParseProtocol
import TestSupport
import Testing

/// Orders after checkout: the shop ships and delivers, customers cancel, and money and products are returned once.
@Suite struct OrderTests {
    /// A customer who just paid for pieces of the shelf's first product, and the order's id.
    private static func paid(
        _ suite: Suite, _ shelf: Shelf, quantity: Int64 = 2, _ more: JSON = [:]
    ) async throws -> (customer: Customer, order: String) {
        let customer = try await Customer.signUp(suite)
        _ = try await customer.client.run(
            "addToBag", ["productId": .string(shelf.productIds[0]), "quantity": .int(quantity)])
        var parameters: JSON = ["tokenId": "tok_visa", "shippingAddress": Customer.address]
        for (name, value) in more.objectValue ?? [:] { parameters[name] = value }
        let answer = try await customer.client.run("checkout", parameters)
        guard answer.status == 200 else { throw Unexpected("checkout", answer) }
        return (customer, answer.result.text("orderId"))
    }

    private static func shelf(_ suite: Suite, stock: Int64 = 10) async throws -> Shelf {
        try await Shelf.fill(suite, names: ["Order \(Names.random(4))"], stock: stock)
    }

    private static func stock(_ suite: Suite, _ shelf: Shelf) async throws -> Int64? {
        try await ParseClient(suite).get("/classes/Product/\(shelf.productIds[0])")["stock"]?.intValue
    }

    /// The mails to a customer with a given word in the subject.
    private static func mails(_ suite: Suite, to customer: Customer, _ word: String) -> [Mail] {
        suite.mails().filter {
            $0.header("To")?.contains(customer.email) == true
                && $0.header("Subject")?.lowercased().contains(word) == true
        }
    }

    @Test func theDeskSortsOrdersByTheRecipientsName() async throws {
        let suite = try await Suite.shared
        let shelf = try await Self.shelf(suite)
        var ids: [JSON] = []
        for (first, last) in [("Ben", "Young"), ("Cleo", "Adams"), ("Ann", "Young")] {
            var address = Customer.address
            address["firstName"] = .string(first)
            address["lastName"] = .string(last)
            ids.append(.string(try await Self.paid(suite, shelf, quantity: 1, ["shippingAddress": address]).order))
        }
        let admin = try await Customer.admin(suite)
        func names(_ sign: String) async throws -> [JSON?] {
            let order = "\(sign)shippingAddress.lastName,\(sign)shippingAddress.firstName"
            let found = try await admin.find("Order", ["objectId": ["$in": .array(ids)]], ["order": .string(order)])
            return found.results.map { $0.at("shippingAddress", "firstName") }
        }
        #expect(try await names("") == ["Cleo", "Ann", "Ben"])
        #expect(try await names("-") == ["Ben", "Ann", "Cleo"])
    }

    @Test func anOrderIsShippedAndDeliveredWithMails() async throws {
        let suite = try await Suite.shared
        let (customer, order) = try await Self.paid(suite, try await Self.shelf(suite), ["note": "Ring <twice>"])
        let admin = try await Customer.admin(suite)
        let shipment: JSON = [
            "orderId": .string(order), "carrier": "Parcel Post", "trackingNumber": "PP-77",
            "trackingUrl": "https://post.example/track?n=PP-77",
        ]
        let shipped = try await admin.run("shipOrder", shipment)
        #expect(shipped.status == 200, "\(shipped.text)")
        #expect(shipped.result["orderState"] == "shipped")
        #expect(shipped.result["orderStatus"] == 1)
        #expect(try await admin.run("shipOrder", shipment).body == shipped.body)
        let late = try await customer.client.run("cancelOrder", ["orderId": .string(order)])
        #expect(late.code == 142)
        #expect(late.json.text("error") == "The order is shipped and cannot be cancelled.")
        let delivered = try await admin.run("deliverOrder", ["orderId": .string(order)])
        #expect(delivered.result["orderState"] == "delivered", "\(delivered.text)")
        #expect(try await admin.run("deliverOrder", ["orderId": .string(order)]).body == delivered.body)
        #expect(try await admin.run("shipOrder", shipment).code == 142)
        let seen = try await customer.client.get("/classes/Order/\(order)", ["include": "items.product"])
        #expect(seen["orderState"] == "delivered")
        #expect(seen["trackingNumber"] == "PP-77")
        #expect(seen["shippedAt"]?.wireType == "Date")
        #expect(seen["deliveredAt"]?.wireType == "Date")
        #expect(seen.json.at("items", 0, "product", "name")?.stringValue?.hasPrefix("Order ") == true)
        try await eventually("one mail each is in the spool", within: .seconds(20)) {
            Self.mails(suite, to: customer, "on its way").count == 1
                && Self.mails(suite, to: customer, "delivered").count == 1
        }
        let mail = try #require(Self.mails(suite, to: customer, "on its way").first)
        #expect(mail.text.contains("PP-77"))
        #expect(mail.text.contains("Parcel Post"))
        #expect(mail.text.contains("https://post.example/track?n=PP-77"))
    }

    @Test func aWrongTrackingNumberIsCorrectedUntilTheOrderIsDelivered() async throws {
        let suite = try await Suite.shared
        let (customer, order) = try await Self.paid(suite, try await Self.shelf(suite))
        let admin = try await Customer.admin(suite)
        let wrong = "W\(Names.random(10))"
        let right: JSON = ["orderId": .string(order), "trackingNumber": .string("R\(Names.random(10))")]
        #expect(try await admin.run("correctTracking", right).code == 142, "It is not shipped yet.")
        let shipment: JSON = ["orderId": .string(order), "carrier": "Post", "trackingNumber": .string(wrong)]
        #expect(try await admin.run("shipOrder", shipment).status == 200)
        #expect(try await admin.run("correctTracking", ["orderId": .string(order)]).code == 142, "It names nothing.")
        #expect(try await customer.client.run("correctTracking", right).code == 119)
        let corrected = try await admin.run("correctTracking", right)
        #expect(corrected.status == 200, "\(corrected.text)")
        #expect(corrected.result["trackingNumber"] == right["trackingNumber"])
        #expect(corrected.result["carrier"] == nil)
        #expect(corrected.result["orderState"] == "shipped")
        #expect(try await admin.run("correctTracking", right).body == corrected.body)
        let seen = try await customer.client.get("/classes/Order/\(order)")
        #expect(seen["trackingCorrections"]?.arrayValue?.count == 1)
        #expect(seen.json.at("trackingCorrections", 0, "trackingNumber") == .string(wrong))
        #expect(seen.json.at("trackingCorrections", 0, "until")?.wireType == "Date")
        #expect(try await admin.run("orders", ["search": .string(wrong)]).result["count"] == 0)
        try await eventually("one mail each is in the spool", within: .seconds(20)) {
            Self.mails(suite, to: customer, "on its way").count == 1
                && Self.mails(suite, to: customer, "new tracking number").count == 1
        }
        let mail = try #require(Self.mails(suite, to: customer, "new tracking number").first)
        #expect(mail.text.contains(right.text("trackingNumber")))
        #expect(!mail.text.contains(wrong))
        try await eventually("the correction is in the audit log") {
            let entries = try await admin.run("auditEntries", ["objectId": .string(order), "limit": 10])
            return entries.result["entries"]?.arrayValue?.contains { $0["action"] == "correctTracking" } == true
        }
        #expect(try await admin.run("deliverOrder", ["orderId": .string(order)]).status == 200)
        let late = try await admin.run("correctTracking", shipment)
        #expect(late.json.text("error") == "The order is delivered and cannot be given another tracking number.")
    }

    /// Nothing was wrong: no details were sent before.
    @Test func detailsThatCameLaterAreMailedAsTheFirstOnes() async throws {
        let suite = try await Suite.shared
        let (customer, order) = try await Self.paid(suite, try await Self.shelf(suite))
        let admin = try await Customer.admin(suite)
        #expect(try await admin.run("shipOrder", ["orderId": .string(order)]).status == 200)
        let number = "L\(Names.random(10))"
        let details: JSON = ["orderId": .string(order), "carrier": "Post", "trackingNumber": .string(number)]
        #expect(try await admin.run("correctTracking", details).status == 200)
        try await eventually("a mail with the details is in the spool", within: .seconds(20)) {
            Self.mails(suite, to: customer, "on its way").contains { $0.text.contains(number) }
        }
        #expect(Self.mails(suite, to: customer, "new tracking number").isEmpty)
    }

    @Test func aCancelledOrderIsRefundedInFullAndItsGoodsComeBack() async throws {
        let suite = try await Suite.shared
        let shelf = try await Self.shelf(suite)
        let (customer, order) = try await Self.paid(suite, shelf)
        try await eventually("two pieces are sold") { try await Self.stock(suite, shelf) == 8 }
        let cancelled = try await customer.client.run(
            "cancelOrder", ["orderId": .string(order), "reason": "Bought <two>"])
        #expect(cancelled.status == 200, "\(cancelled.text)")
        #expect(cancelled.result["orderState"] == "cancelled")
        #expect(cancelled.result["refundState"] == "done")
        #expect(cancelled.result["refundedTotal"] == 700)
        #expect(cancelled.result["cancelReason"] == "Bought <two>")
        #expect(try await customer.client.run("cancelOrder", ["orderId": .string(order)]).body == cancelled.body)
        try await eventually("the goods are back") { try await Self.stock(suite, shelf) == 10 }
        let refunds = try await suite.rows(
            "bag", "SELECT state, amount FROM refunds WHERE orderId = '\(order)'")
        #expect(refunds == [["done", 700]])
        try await eventually("one mail is in the spool", within: .seconds(20)) {
            Self.mails(suite, to: customer, "was cancelled").count == 1
        }
        let admin = try await Customer.admin(suite)
        let refused = try await admin.run("refundOrder", ["orderId": .string(order)])
        #expect(refused.code == 142)
        #expect(refused.json.text("error") == "The order is cancelled and cannot be refunded.")
    }

    /// The shop's provider does not know the charge, so Satchel neither refunds nor reports a refund.
    @Test func anOrderWhoseChargeIsUnknownIsNotRefundedHere() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let created = try await ParseClient.master(suite).create(
            "Order",
            [
                "orderNo": .int(.random(in: 1...900_000)), "orderStatus": 1, "total": 700, "currency": "usd",
                "customer": customer.pointer, "stripePaymentId": "ch_elsewhere", "ACL": [:],
            ])
        try #require(created.status == 201, "\(created.text)")
        let order: JSON = ["orderId": .string(created.objectId)]
        let admin = try await Customer.admin(suite)
        for step in ["refundOrder", "cancelOrder"] {
            let refused = try await admin.run(step, order)
            #expect(refused.code == 142, "\(refused.text)")
            #expect(refused.json.text("error").contains("no charge ch_elsewhere. Refund it where"), "\(refused.text)")
        }
        // The way out that the text names.
        let path = "/classes/Order/\(created.objectId)"
        #expect(try await ParseClient.master(suite).call(.PUT, path, ["paymentStatus": "refunded"]).status == 200)
        let cancelled = try await admin.run("cancelOrder", order)
        #expect(cancelled.result["orderState"] == "cancelled", "\(cancelled.text)")
        for field in ["refundedTotal", "refundedAt", "refundState"] { #expect(cancelled.result[field] == nil) }
        try await eventually("one mail is in the spool", within: .seconds(20)) {
            Self.mails(suite, to: customer, "was cancelled").count == 1
        }
        #expect(Self.mails(suite, to: customer, "refund for your order").isEmpty)
        #expect(!Self.mails(suite, to: customer, "was cancelled").contains { $0.text.contains("We refund") })
    }

    @Test func adminsRefundPartsUpToTheTotal() async throws {
        let suite = try await Suite.shared
        let shelf = try await Self.shelf(suite)
        let (customer, order) = try await Self.paid(suite, shelf)
        let admin = try await Customer.admin(suite)
        _ = try await admin.run("shipOrder", ["orderId": .string(order)])
        let part: JSON = ["orderId": .string(order), "amount": 200, "reason": "Broken lid"]
        let refunded = try await admin.run("refundOrder", part)
        #expect(refunded.result["orderState"] == "shipped", "\(refunded.text)")
        #expect(refunded.result["paymentStatus"] == "partiallyRefunded", "\(refunded.text)")
        #expect(refunded.result["refundedTotal"] == 200, "\(refunded.text)")
        #expect(refunded.result["refundedNow"] == 200)
        let again = try await admin.run("refundOrder", part)
        #expect(again.result["refundedNow"] == 200, "\(again.text)")
        #expect(again.result["refundedTotal"] == 400, "\(again.text)")
        #expect(try await admin.run("refundOrder", ["orderId": .string(order), "amount": 301]).code == 142)
        let rest = try await admin.run("refundOrder", ["orderId": .string(order), "restock": true])
        #expect(rest.result["refundedTotal"] == 700, "\(rest.text)")
        #expect(rest.result["refundedNow"] == 300)
        #expect(rest.result["orderState"] == "refunded", "\(rest.text)")
        #expect(rest.result["fulfillmentStatus"] == "shipped", "\(rest.text)")
        // Refunded goods that are under way still arrive.
        let delivered = try await admin.run("deliverOrder", ["orderId": .string(order)])
        #expect(delivered.result["fulfillmentStatus"] == "delivered", "\(delivered.text)")
        #expect(delivered.result["orderState"] == "refunded", "\(delivered.text)")
        let nothing = try await admin.run("refundOrder", ["orderId": .string(order)])
        #expect(nothing.result["refundedNow"] == 0, "\(nothing.text)")
        #expect(nothing.result["refundedTotal"] == 700, "\(nothing.text)")
        try await eventually("the goods are back") { try await Self.stock(suite, shelf) == 10 }
        try await eventually("one mail each is in the spool", within: .seconds(20)) {
            Self.mails(suite, to: customer, "refund for your order").count == 3
        }
    }

    @Test func adminsCancelAnOrderThatIsNotShipped() async throws {
        let suite = try await Suite.shared
        let (customer, order) = try await Self.paid(suite, try await Self.shelf(suite))
        let admin = try await Customer.admin(suite)
        let cancelled = try await admin.run("cancelOrder", ["orderId": .string(order), "reason": "Sold out"])
        #expect(cancelled.result["orderState"] == "cancelled", "\(cancelled.text)")
        #expect(cancelled.result["refundedTotal"] == 700, "\(cancelled.text)")
        #expect(try await customer.client.get("/classes/Order/\(order)")["cancelReason"] == "Sold out")
        let shipped = try await admin.run("shipOrder", ["orderId": .string(order)])
        #expect(shipped.code == 142)
        #expect(shipped.json.text("error") == "The order is cancelled and cannot be shipped.")
    }

    @Test func onlyAdminsShipDeliverRefundAndList() async throws {
        let suite = try await Suite.shared
        let (customer, order) = try await Self.paid(suite, try await Self.shelf(suite))
        let stranger = try await Customer.signUp(suite)
        for function in ["shipOrder", "deliverOrder", "refundOrder", "orders"] {
            for client in [customer.client, stranger.client, ParseClient(suite)] {
                #expect(try await client.run(function, ["orderId": .string(order)]).code == 119, "\(function)")
            }
        }
        #expect(try await stranger.client.run("cancelOrder", ["orderId": .string(order)]).code == 101)
        #expect(try await ParseClient(suite).run("cancelOrder", ["orderId": .string(order)]).code == 209)
        let write = try await customer.client.call(.PUT, "/classes/Order/\(order)", ["orderStatus": 3])
        #expect(write.code == 119)
        #expect(try await customer.client.get("/classes/Order/\(order)")["orderStatus"] == 1)
    }

    static let badCalls: [(String, JSON, Int)] = [
        ("shipOrder", [:], 142), ("shipOrder", ["orderId": 5], 142), ("shipOrder", ["orderId": "role:admins"], 101),
        ("shipOrder", ["orderId": "missing"], 101),
        ("shipOrder", ["orderId": "x", "trackingUrl": "javascript:1"], 142),
        ("shipOrder", ["orderId": "x", "carrier": ["$ne": 1]], 111),
        ("refundOrder", ["orderId": "x", "amount": -1], 142), ("refundOrder", ["orderId": "x", "amount": 1.5], 142),
        ("refundOrder", ["orderId": "x", "amount": 1e300], 142),
        ("refundOrder", ["orderId": "x", "restock": "yes"], 142),
        ("refundOrder", ["orderId": "x", "reason": "4242 4242 4242 4242"], 142),
        ("cancelOrder", ["orderId": "x", "reason": .string(String(repeating: "x", count: 501))], 142),
        ("orders", ["status": "lost"], 142), ("orders", ["from": "soon"], 142), ("orders", ["skip": -1], 142),
    ]

    @Test(arguments: badCalls)
    func badParametersGetTheirCode(function: String, parameters: JSON, code: Int) async throws {
        let answer = try await Customer.admin(try await Suite.shared).run(function, parameters)
        #expect(answer.code == code, "\(function) \(parameters.serializedText): \(answer.text)")
    }

    @Test func adminsSeeOrdersWithWhomToReach() async throws {
        let suite = try await Suite.shared
        let shelf = try await Self.shelf(suite)
        _ = try await Self.paid(suite, shelf)
        let (customer, order) = try await Self.paid(suite, shelf)
        let admin = try await Customer.admin(suite)
        let listed = try await admin.run("orders", ["status": 1, "limit": 100])
        #expect(listed.status == 200, "\(listed.text)")
        let mine = try #require(listed.result["results"]?.arrayValue?.first { $0.objectId == order })
        #expect(mine.at("contact", "email") == .string(customer.email))
        #expect(mine.at("items", 0, "name") == .string(shelf.names[0]))
        #expect(mine.at("items", 0, "quantity") == 2)
        #expect(!listed.text.contains("authData"))
        #expect(!listed.text.contains("assword"))
        let numbers = listed.result["results"]?.arrayValue?.compactMap { $0["orderNo"]?.intValue } ?? []
        #expect(numbers == numbers.sorted(by: >))
        let page = try await admin.run("orders", ["limit": 1, "skip": 1])
        #expect(page.result["results"]?.arrayValue?.count == 1)
        #expect((page.result["count"]?.intValue ?? 0) > 1)
    }
}
