import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The examples in `docs/reference/functions.md` and in the OpenAPI document match a suite's real answers: every member
/// of an example is in the answer, with a value of the same kind.
@Suite struct FunctionExampleTests {
    /// Calls functions and compares their answers with the examples.
    private actor Examples {
        private let paths: [String: JSON]
        private(set) var asked: Set<String> = []

        init(_ document: JSON) { paths = document["paths"]?.objectValue ?? [:] }

        var names: Set<String> {
            Set(paths.keys.filter { $0.hasPrefix("/functions/") && !$0.contains("{") }.map { String($0.dropFirst(11)) })
        }

        /// - Parameter parameters: the names of the example, with values from the suite.
        @discardableResult
        func ask(_ name: String, _ client: ParseClient, _ parameters: JSON = [:]) async throws -> JSON {
            asked.insert(name)
            let operation = paths["/functions/\(name)"]?["post"]
            let request = operation?.at("requestBody", "content", "application/json", "example")
            let example = operation?.at("responses", "200", "content", "application/json", "example")
            #expect(request?.objectValue != nil, "\(name) has no example.")
            #expect(example?["result"] != nil, "\(name) has no example.")
            let answer = try await client.run(name, parameters)
            guard answer.status == 200 else { throw Unexpected("functions/\(name)", answer) }
            let problems = Self.problems(example ?? .null, answer.json, name)
            #expect(problems.isEmpty, "\(problems): \(answer.text.prefix(600))")
            return answer.result
        }

        /// The example's members that the answer lacks, and those of another kind. Compares only the first elements of
        /// lists.
        private static func problems(_ example: JSON, _ answer: JSON, _ place: String) -> [String] {
            guard kind(example) == kind(answer) else { return ["\(place) is \(kind(answer))"] }
            if let members = example.objectValue {
                return members.flatMap { name, value -> [String] in
                    guard let other = answer[name] else { return ["\(place).\(name) is missing"] }
                    return problems(value, other, "\(place).\(name)")
                }
            }
            guard let first = example.arrayValue?.first, let other = answer.arrayValue?.first else { return [] }
            return problems(first, other, "\(place)[0]")
        }

        private static func kind(_ value: JSON) -> String {
            if value.isNull { return "null" }
            if value.objectValue != nil { return "an object" }
            if value.arrayValue != nil { return "an array" }
            if value.stringValue != nil { return "a text" }
            return value.boolValue == nil ? "a number" : "a boolean"
        }
    }

    @Test(.timeLimit(.minutes(10)))
    func eachExampleIsWhatASuiteAnswers() async throws {
        let suite = try await Suite.shared
        let examples = Examples(try await ParseClient(suite).send(.GET, "/openapi.json").json)
        let admin = try await Customer.admin(suite)
        let shelf = try await Shelf.fill(suite, names: ["Example \(Names.random(4))", "Other \(Names.random(4))"])
        let customer = try await Customer.signUp(suite)
        let receipt = try await bagAndOrders(examples, shelf, customer, admin)
        let wanted: JSON = ["method": "POST", "path": ["customers"], "form": [["source", "tok_visa"]]]
        try await examples.ask("stripeRequest", ParseClient.master(suite), wanted)
        let paid: JSON = [
            "orderId": receipt["orderId"] ?? .null, "chargeId": receipt["stripePaymentId"] ?? .null,
        ]
        try await examples.ask("adoptCharge", ParseClient.master(suite), paid)
        // Beyond the last order: the shared suite may have more orders than a page.
        let page = try await examples.ask("soldOrders", ParseClient.master(suite), ["after": "zzzz"])
        let rebuilt: JSON = ["after": "zzzz", "at": page["at"] ?? .null, "sales": page["sales"] ?? .null]
        try await examples.ask("rebuildSales", ParseClient.master(suite), rebuilt)
        try await reviews(examples, shelf, customer, admin)
        try await mailAndPush(examples, receipt, admin)
        let mail: JSON = ["to": .string("\(Names.random(8))@customers.example"), "text": "It begins at nine."]
        try await examples.ask("sendShopMail", ParseClient.master(suite), mail)
        try await analytics(examples, customer, admin)
        try await crashes(examples, suite, customer, admin)
        try await stores(examples, admin)
        try await accounts(examples, customer, admin)
        try await team(examples, suite, admin)
        let rest = await examples.names.subtracting(examples.asked)
        #expect(rest == Self.ofRefusedMail.union(Self.ofCodeByRoute))
    }

    /// They need a setting.
    private static let ofCodeByRoute: Set = ["deployCloudCode", "activateCloudCode", "cloudCodeVersions"]

    @Test(.timeLimit(.minutes(10)))
    func theExamplesOfCodeByRouteAreWhatASuiteAnswers() async throws {
        try await Suite.with(settings: ["SATCHEL_CLOUD_DEPLOY_BY_ROUTE": "true"]) { suite in
            let examples = Examples(try await ParseClient(suite).send(.GET, "/openapi.json").json)
            let master = ParseClient.master(suite)
            let main: JSON = "Parse.Cloud.define('hello', () => 'hello'); Parse.Cloud.job('nightly', () => {});"
            let made = try await examples.ask("deployCloudCode", master, ["files": ["main.js": main]])
            try await examples.ask("activateCloudCode", master, ["version": made["version"] ?? .null])
            try await examples.ask("cloudCodeVersions", master)
            let asked = await examples.asked
            #expect(asked == Self.ofCodeByRoute)
        }
    }

    /// They need a mail that a server refused permanently, and an address on the suppression list.
    private static let ofRefusedMail: Set = ["retryMail", "unsuppressAddress"]

    @Test(.timeLimit(.minutes(10)))
    func theExamplesOfRefusedMailAreWhatASuiteAnswers() async throws {
        try await MailSuite.with(["SATCHEL_VERIFY_EMAIL": "true"]) { suite, _ in
            let examples = Examples(try await ParseClient(suite).send(.GET, "/openapi.json").json)
            let admin = try await Customer.admin(suite)
            let address = JSON.string("rcpt-550-5.1.1+\(Names.random(5).lowercased())@customers.example")
            let signUp = try await ParseClient(suite).call(
                .POST, "/users", ["username": address, "email": address, "password": "secret-word"])
            try #require(signUp.status == 201, "\(signUp.text)")
            var bounced: JSON?
            try await eventually("the mail bounced") {
                bounced = try await admin.run("mails", ["state": "bounced"]).result.at(0)
                return bounced != nil
            }
            try await examples.ask("suppressedAddresses", admin, ["limit": 1])
            try await examples.ask("unsuppressAddress", admin, ["address": address])
            try await examples.ask("retryMail", admin, ["id": bounced?["id"] ?? .null])
            let asked = await examples.asked
            #expect(asked.isSuperset(of: Self.ofRefusedMail))
        }
    }

    private func accounts(_ examples: Examples, _ customer: Customer, _ admin: ParseClient) async throws {
        let user: JSON = ["userId": .string(customer.userId)]
        let known: JSON = ["customerId": .string(customer.userId)]
        try await examples.ask(
            "setCustomerTags", admin, ["customerId": .string(customer.userId), "tags": ["VIP"]])
        let note = try await examples.ask(
            "addCustomerNote", admin, ["customerId": .string(customer.userId), "text": "Prefers calls after six."])
        try await examples.ask("customers", admin, known)
        try await examples.ask("removeCustomerNote", admin, ["noteId": note["noteId"] ?? .null])
        try await examples.ask("sessionsOf", admin, user)
        try await examples.ask("revokeSessions", admin, user)
        try await examples.ask("accounts", admin, ["search": .string(customer.email)])
        try await examples.ask("allAccounts", admin, ["limit": 1])
        try await examples.ask("account", admin, user)
        var change = user
        change["lastName"] = "Long"
        try await examples.ask("updateAccount", admin, change)
        try await examples.ask("deleteAccount", admin, user)
    }

    /// An invitation that is revoked, and an operator from the invitation to the removal.
    private func team(_ examples: Examples, _ suite: Suite, _ admin: ParseClient) async throws {
        let invitation = try await Invitations.invite(Invitations.address(), into: "support", by: admin)
        try await examples.ask("resendOperatorInvitation", admin, invitation)
        try await examples.ask("operators", admin)
        try await examples.ask("revokeOperatorInvitation", admin, invitation)
        let address = Invitations.address()
        try await examples.ask("inviteOperator", admin, ["email": .string(address), "role": "order-desk"])
        let token = JSON.string(try await Invitations.tokens(to: address, in: suite)[0])
        try await examples.ask(
            "acceptOperatorInvitation", ParseClient(suite),
            ["token": token, "name": "Ben Long", "password": "a-long-secret"])
        let entered = try await ParseClient(suite).call(
            .POST, "/login", ["username": .string(address), "password": "a-long-secret"])
        let client = ParseClient(suite, sessionToken: try #require(entered["sessionToken"]?.stringValue))
        let app = Authenticator()
        let code = JSON.string(try await app.next())
        try await examples.ask(
            "setOperatorFactor", client,
            ["password": "a-long-secret", "secret": .string(app.secret), "token": code])
        let member: JSON = ["userId": .string(entered.objectId)]
        try await examples.ask("resetOperatorFactor", admin, member)
        try await examples.ask(
            "changeOperatorPassword", client, ["oldPassword": "a-long-secret", "newPassword": "a-longer-secret"])
        try await examples.ask("removeOperator", admin, member)
    }

    private func bagAndOrders(
        _ examples: Examples, _ shelf: Shelf, _ customer: Customer, _ admin: ParseClient
    ) async throws -> JSON {
        let client = customer.client
        let product = JSON.string(shelf.productIds[0])
        try await examples.ask("addToBag", client, ["productId": product, "quantity": 2])
        try await examples.ask("bag", client)
        try await discountCodes(examples, client, admin)
        try await examples.ask("setBagQuantity", client, ["productId": product, "quantity": 1])
        try await examples.ask("emptyBag", client)
        _ = try await client.run("addToBag", ["productId": product, "quantity": 2])
        let key = JSON.string(Names.random(20))
        let asked = try await client.run(
            "checkout",
            [
                "tokenId": "tok_threeDSecure2Required", "idempotencyKey": key, "allowsAction": true,
                "shippingAddress": Customer.address,
            ])
        try await examples.ask("checkoutResult", client, ["idempotencyKey": key])
        try await examples.ask(
            "sandboxAction", client, ["clientSecret": asked.result["clientSecret"] ?? .null, "confirms": false])
        #expect(try await client.run("checkoutResult", ["idempotencyKey": key]).code == 141)
        let receipt = try await examples.ask(
            "checkout", client,
            ["tokenId": "tok_visa", "idempotencyKey": .string(Names.random(20)), "shippingAddress": Customer.address])
        let first = JSON.string(receipt.text("orderId"))
        try await examples.ask("cancelOrder", client, ["orderId": first, "reason": "Ordered twice."])

        let token = try await examples.ask(
            "createStripeCustomer", client, ["tokenId": "tok_visa", "customerEmail": .string(customer.email)])
        let method = try await examples.ask("addPaymentMethod", client, ["tokenId": "tok_visa"])
        try await examples.ask("setDefaultPaymentMethod", client, ["paymentMethodId": .string(method.objectId)])
        let second = try await openOrder(shelf, customer)
        try await examples.ask(
            "chargeCustomer", client, ["orderId": second, "customerId": token, "chargeAmount": 700])
        try await examples.ask(
            "shipOrder", admin, ["orderId": second, "carrier": "UPS", "trackingNumber": "1Z999"])
        try await examples.ask(
            "correctTracking", admin, ["orderId": second, "carrier": "UPS", "trackingNumber": "1Z998"])
        try await examples.ask("deliverOrder", admin, ["orderId": second])
        let note = try await examples.ask(
            "addOrderNote", admin, ["orderId": second, "text": "Called: deliver after six."])
        try await examples.ask(
            "mailCustomer", admin, ["orderId": second, "subject": "Your order", "text": "We packed it today."])
        try await examples.ask("removeOrderNote", admin, ["noteId": .string(note.objectId)])
        try await examples.ask(
            "refundOrder", admin, ["orderId": second, "amount": 350, "reason": "One was broken."])
        try await examples.ask("orderRefunds", admin, ["orderId": second])
        let sheet: JSON = [
            "name": ["givenName": "Ann", "familyName": "Lee"], "phoneNumber": "555-0100",
            "emailAddress": "ann@example.com",
            "postalAddress": [
                "street": "1 Main St", "city": "Springfield", "state": "IL", "postalCode": "62701",
            ],
        ]
        let withSheet: JSON = ["shippingContact": sheet]
        for (spelling, more) in [("ChargeToken", withSheet), ("chargeToken", [:])] {
            var parameters = more
            parameters["orderId"] = try await openOrder(shelf, customer)
            parameters["chargeToken"] = "tok_visa"
            try await examples.ask(spelling, client, parameters)
        }
        try await examples.ask("orders", admin, ["status": "made", "limit": 1])
        try await examples.ask("stockMoves", admin, ["productId": product, "limit": 1])
        try await examples.ask("salesByProduct", admin, ["groupBy": "product", "limit": 1])
        try await examples.ask("charges", admin, ["limit": 1, "state": "succeeded"])
        try await examples.ask("paymentEvents", admin, ["limit": 1])
        return receipt
    }

    /// An order as the reference app creates it, from the app's own objects.
    private func openOrder(_ shelf: Shelf, _ customer: Customer) async throws -> JSON {
        let item = try await customer.client.create(
            "OrderItem", ["quantity": 2, "product": .pointer("Product", shelf.productIds[0])])
        let order = try await customer.client.create(
            "Order",
            [
                "customer": customer.pointer, "orderStatus": 0, "items": [.pointer("OrderItem", item.objectId)],
                "shippingAddress": Customer.address,
            ])
        guard order.status == 201 else { throw Unexpected("POST Order", order) }
        return .string(order.objectId)
    }

    private func discountCodes(_ examples: Examples, _ client: ParseClient, _ admin: ParseClient) async throws {
        let code: JSON = ["discountCode": .string("EXAMPLE-\(Names.random(6))")]
        var definition = code
        for (name, value) in [
            "percent": 20, "minimumMinorUnits": 500, "until": "2130-12-01", "usesMax": 1000, "usesPerCustomerMax": 1,
        ] as [String: JSON] {
            definition[name] = value
        }
        try await examples.ask("createDiscountCode", admin, definition)
        try await examples.ask("setDiscountCode", client, code)
        try await examples.ask("discountCodes", admin, code)
        var change = code
        change["active"] = false
        try await examples.ask("updateDiscountCode", admin, change)
    }

    private func reviews(
        _ examples: Examples, _ shelf: Shelf, _ customer: Customer, _ admin: ParseClient
    ) async throws {
        let review = try await customer.client.create(
            "ProductReview",
            [
                "product": .pointer("Product", shelf.productIds[1]), "user": customer.pointer, "rating": 1,
                "content": "Not for me.",
            ])
        guard review.status == 201 else { throw Unexpected("POST ProductReview", review) }
        let id = JSON.string(review.objectId)
        try await examples.ask("reportReview", customer.client, ["reviewId": id])
        try await examples.ask("reviewsToModerate", admin, ["limit": 10])
        let pixel = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
        let photo = try await admin.upload(
            Array(try #require(Data(base64Encoded: pixel))), as: "spring.png", type: "image/png")
        try await examples.ask("makeThumbnail", admin, ["name": photo["name"] ?? .null])
        try await examples.ask("hideReview", admin, ["reviewId": id, "reason": "An advertisement."])
        try await examples.ask("showReview", admin, ["reviewId": id])
        // Services report to the log with a short delay.
        var wanted: JSON = ["objectId": id, "limit": 1]
        try await eventually("the audit log has both") {
            let entries = try await admin.run("auditEntries", wanted)
            return entries.result["entries"]?.at(0, "action") == "showReview" && entries.result["next"] != .null
        }
        wanted["className"] = "ProductReview"
        try await examples.ask("auditEntries", admin, wanted)
        try await examples.ask("myAreas", admin)
        let view: JSON = ["list": "orders", "name": .string("Example \(Names.random(4))")]
        try await examples.ask("saveDeskView", admin, view)
        try await examples.ask("deskViews", admin)
        try await examples.ask("removeDeskView", admin, view)
    }

    private func mailAndPush(_ examples: Examples, _ receipt: JSON, _ admin: ParseClient) async throws {
        let sent: JSON = ["limit": 1, "state": "sent", "orderNo": receipt["orderNo"] ?? .null]
        try await eventually("a mail is sent") {
            try await admin.run("mails", sent).result.arrayValue?.isEmpty == false
        }
        let mails = try await examples.ask("mails", admin, sent)
        try await examples.ask("mailContent", admin, ["id": mails.at(0, "id") ?? .null])
        try await examples.ask("suppressedAddresses", admin, ["limit": 1])
        let order: JSON = ["orderId": receipt["orderId"] ?? .null]
        try await eventually("the order's news are told") {
            try await admin.run("orderPushes", order).result.arrayValue?.isEmpty == false
        }
        try await examples.ask("orderPushes", admin, order)

        let promotion = try await admin.create("Promotion", ["content": .string("Spring \(Names.random(6))")])
        let id: JSON = ["promotionId": .string(promotion.objectId)]
        var wish = id
        wish["title"] = "Spring"
        wish["audience"] = ["channels": [.string("nobody\(Names.random(6))")]]
        try await examples.ask("sendPromotion", admin, wish)
        try await examples.ask("promotionReport", admin, id)
        try await examples.ask("pushes", admin, ["limit": 1])
        try await examples.ask("countAudience", admin, ["audience": wish["audience"] ?? .null])
        try await examples.ask("cancelPromotion", admin, id)
    }

    private func analytics(_ examples: Examples, _ customer: Customer, _ admin: ParseClient) async throws {
        let name = "Search\(Names.random(6))"
        let hash = Names.random(32)
        let search: JSON = ["dimensions": ["brand": "Aqua"]]
        let opened: JSON = ["push_hash": .string(hash)]
        for (event, body) in [(name, search), ("AppOpened", opened)] {
            let answer = try await customer.client.call(.POST, "/events/\(event)", body)
            guard answer.status == 200 else { throw Unexpected("POST events/\(event)", answer) }
        }
        try await examples.ask("analyticsEvents", admin, ["name": .string(name), "limit": 1])
        try await examples.ask("analyticsSeries", admin, ["metric": .string("event:\(name)"), "interval": "day"])
        try await examples.ask("analyticsNames", admin)
        try await examples.ask("analyticsTop", admin, ["name": .string(name), "dimension": "brand", "limit": 3])
        try await examples.ask("analyticsActiveUsers", admin)
        try await examples.ask(
            "analyticsRetention", admin, ["kind": "users", "interval": "week", "periods": 2])
        try await examples.ask("pushOpens", admin, ["pushHash": .string(hash)])
        let (byDay, byClass): (JSON, JSON) = (["interval": "day"], ["groupBy": "class"])
        for (function, parameters) in [("analyticsSales", byDay), ("analyticsRequests", byClass)] {
            try await eventually("\(function) has something to tell") {
                try await admin.run(function, parameters).result.arrayValue?.isEmpty == false
            }
            try await examples.ask(function, admin, parameters)
        }
    }

    private func crashes(
        _ examples: Examples, _ suite: Suite, _ customer: Customer, _ admin: ParseClient
    ) async throws {
        let made = try await examples.ask("createCrashProject", admin, ["name": "Shop app"])
        let project = CrashProject(
            suite: suite, admin: admin, id: made.text("projectId"), key: made.text("key"), dsn: made.text("dsn"))
        try await project.report("IndexError", release: "shop@1.2.0", user: customer.userId)
        try await examples.ask("crashReports", admin, ["limit": 1])
        let issues = try await examples.ask(
            "crashIssues", admin, ["status": "unresolved", "projectId": .string(project.id), "limit": 1])
        let id: JSON = ["issueId": .string(issues.at(0, "issueId")?.stringValue ?? "")]
        try await examples.ask("crashIssue", admin, id)
        try await examples.ask("crashTrend", admin, id)
        try await project.tell(session: CrashProject.newId(), of: "d1", release: "shop@1.2.0")
        try await examples.ask("crashFreeRate", admin, ["projectId": .string(project.id)])
        var resolved = id
        resolved["inRelease"] = "shop@1.2.0"
        try await examples.ask("resolveCrashIssue", admin, resolved)
        try await examples.ask("ignoreCrashIssue", admin, id)
        try await examples.ask("reopenCrashIssue", admin, id)
        try await examples.ask("crashProjects", admin)
        try await examples.ask("disableCrashKey", admin, ["key": .string(project.key)])
    }

    /// Far from other tests' stores.
    private func stores(_ examples: Examples, _ admin: ParseClient) async throws {
        let place: JSON = ["__type": "GeoPoint", "latitude": -75.5, "longitude": 10]
        let store = try await admin.create("Store", ["name": "Ice", "location": place])
        guard store.status == 201 else { throw Unexpected("POST Store", store) }
        try await examples.ask("nearestStores", admin, ["latitude": -75.4, "longitude": 10, "limit": 1])
        _ = try await admin.call(.DELETE, "/classes/Store/\(store.objectId)")
    }
}
