import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// A stolen session of each operator role has only the rights of its own area, and none of other areas or of the master
/// key. Ids T14a and T14b of docs/internals/hardening.md.
@Suite struct OperatorAreaScenarioTests {
    /// A harmless request and the roles that may send it. A permitted role gets an answer, or an error about something
    /// other than its rights.
    private struct Row {
        let method: HTTPMethod
        let path: String
        let body: JSON?
        let roles: Set<String>
        /// Whether admins may send it.
        var isAdmins = true

        init(_ method: HTTPMethod, _ path: String, _ body: JSON? = nil, _ roles: String...) {
            (self.method, self.path, self.body, self.roles) = (method, path, body, Set(roles))
        }

        static func masterKeys(_ method: HTTPMethod, _ path: String, _ body: JSON? = nil) -> Row {
            var row = Row(method, path, body)
            row.isAdmins = false
            return row
        }
    }

    private static let (catalog, orders, support, developers) = (
        "catalog-editors", "order-desk", "support", "developers"
    )

    private static let functions: [Row] = [
        Row(.POST, "/functions/shipOrder", [:], orders), Row(.POST, "/functions/deliverOrder", [:], orders),
        Row(.POST, "/functions/correctTracking", [:], orders),
        Row(.POST, "/functions/refundOrder", [:], orders), Row(.POST, "/functions/orders", [:], orders, support),
        Row(.POST, "/functions/addOrderNote", [:], orders), Row(.POST, "/functions/removeOrderNote", [:], orders),
        Row(.POST, "/functions/mailCustomer", [:], orders, support),
        Row(.POST, "/functions/mailCustomer", ["userId": "nobody1234"], support),
        Row.masterKeys(.POST, "/functions/soldOrders", [:]), Row.masterKeys(.POST, "/functions/rebuildSales", [:]),
        Row(.POST, "/functions/salesByProduct", [:], orders, support, developers),
        Row(.GET, "/classes/OrderDeskNote?limit=1", nil, orders, support),
        Row.masterKeys(.POST, "/classes/OrderDeskNote", ["text": "Past the function"]),
        Row(.POST, "/functions/deskViews", [:], catalog, orders, support, developers),
        Row(.POST, "/functions/saveDeskView", [:], catalog, orders, support, developers),
        Row(.POST, "/functions/removeDeskView", [:], catalog, orders, support, developers),
        Row(.POST, "/functions/charges", [:], orders), Row(.POST, "/functions/paymentEvents", [:], orders),
        Row(.POST, "/functions/makeThumbnail", [:], catalog), Row(.POST, "/functions/stockMoves", [:], catalog),
        Row(.POST, "/functions/hideReview", [:], catalog, support),
        Row(.POST, "/functions/showReview", [:], catalog, support),
        Row(.POST, "/functions/reviewsToModerate", [:], catalog, support),
        Row(.POST, "/functions/sessionsOf", ["userId": "nobody1234"], support),
        Row(.POST, "/functions/revokeSessions", ["userId": "nobody1234"], support),
        Row(.POST, "/functions/accounts", ["search": "nobody1234"], support),
        Row(.POST, "/functions/allAccounts", ["limit": 1], support),
        Row(.POST, "/functions/account", ["userId": "nobody1234"], support),
        Row(.POST, "/functions/updateAccount", ["userId": "nobody1234", "name": "Nobody"], support),
        Row(.POST, "/functions/updateAccount", ["userId": "nobody1234", "email": "nobody@customers.example"]),
        Row(.POST, "/functions/deleteAccount", ["userId": "nobody1234"], support),
        Row(.POST, "/functions/orderPushes", [:], orders, support),
        Row(.POST, "/functions/orderRefunds", [:], orders, support),
        Row(.POST, "/functions/createDiscountCode", [:], orders),
        Row(.POST, "/functions/updateDiscountCode", [:], orders),
        Row(.POST, "/functions/discountCodes", [:], orders, support),
        Row(.POST, "/functions/customers", [:], orders, support),
        Row(.POST, "/functions/setCustomerTags", [:], orders, support),
        Row(.POST, "/functions/addCustomerNote", [:], orders, support),
        Row(.POST, "/functions/removeCustomerNote", [:], orders, support),
        Row(.POST, "/functions/mails", ["orderNo": 1], orders, support),
        Row(.POST, "/functions/mails", ["orderNo": .null], support),
        Row(.POST, "/functions/mailContent", [:], support), Row(.POST, "/mails/0", [:], support),
        Row(.POST, "/functions/mails", [:], support), Row(.POST, "/functions/suppressedAddresses", [:], support),
        Row(.POST, "/functions/unsuppressAddress", [:], support), Row(.POST, "/functions/retryMail", [:], support),
        Row.masterKeys(.POST, "/functions/sendShopMail", [:]),
        Row(.POST, "/functions/crashIssues", [:], developers, support),
        Row(.POST, "/functions/crashReports", [:], developers, support),
        Row(.POST, "/functions/crashProjects", [:], developers, support),
        Row(.POST, "/functions/crashTrend", [:], developers, support),
        Row(.POST, "/functions/crashFreeRate", [:], developers, support),
        Row(.POST, "/functions/resolveCrashIssue", [:], developers),
        Row(.POST, "/functions/ignoreCrashIssue", [:], developers),
        Row(.POST, "/functions/createCrashProject", [:], developers),
        Row(.POST, "/functions/disableCrashKey", [:], developers),
        Row(.POST, "/functions/analyticsSales", [:], developers),
        Row(.POST, "/functions/analyticsNames", [:], developers),
        Row(.POST, "/functions/analyticsRequests", [:], developers),
        Row(.POST, "/functions/analyticsRetention", [:], developers),
        Row(.POST, "/functions/sendPromotion", [:]), Row(.POST, "/functions/cancelPromotion", [:]),
        Row(.POST, "/functions/promotionReport", [:]), Row(.POST, "/functions/countAudience", [:]),
        Row(.POST, "/functions/pushes", [:]), Row(.POST, "/functions/auditEntries", [:]),
        Row(.POST, "/functions/operators", [:]), Row(.POST, "/functions/inviteOperator", [:]),
        Row(.POST, "/functions/resendOperatorInvitation", [:]), Row(.POST, "/functions/revokeOperatorInvitation", [:]),
        Row(.POST, "/functions/removeOperator", ["userId": "nobody1234"]),
        Row(.POST, "/functions/resetOperatorFactor", ["userId": "nobody1234"]),
        Row(.POST, "/functions/changeOperatorPassword", [:], catalog, orders, support, developers),
        Row(.POST, "/functions/setOperatorFactor", [:], catalog, orders, support, developers),
    ]

    private static let classes: [Row] = [
        Row(.POST, "/classes/Product", ["name": "Desk", "unitPrice": 1, "stock": 0, "active": false], catalog),
        Row(.POST, "/classes/Category", ["title": "Desk"], catalog),
        Row(.POST, "/classes/Page", ["name": "No Name"], catalog),
        Row(.POST, "/classes/Promotion", ["content": "Desk"]),
        Row(.GET, "/classes/Product?explain=true&limit=1", nil, developers),
        Row(.GET, "/classes/_JobStatus?limit=1", nil, developers),
        Row(.GET, "/export/Product?where=%7B%22name%22%3A1%7D"),
        Row.masterKeys(.GET, "/classes/_Audience"), Row.masterKeys(.GET, "/classes/_PushStatus"),
        Row.masterKeys(.GET, "/classes/_Idempotency"),
    ]

    private static let masterKeyRoutes: [Row] = [
        Row(.GET, "/schemas", nil, developers), Row(.GET, "/schemas/Order", nil, developers),
        Row(.POST, "/schemas/_Bad", [:], developers), Row(.PUT, "/schemas/NeverThere", [:], developers),
        Row(.DELETE, "/schemas/NeverThere", nil, developers), Row(.PUT, "/config", [:], developers),
        Row(.GET, "/hooks/functions", nil, developers), Row(.POST, "/hooks/functions", [:], developers),
        Row(.GET, "/hooks/triggers", nil, developers),
        Row(.PUT, "/hooks/triggers/Never/beforeSave", ["url": "https://hooks.example/"]),
        Row(.POST, "/jobs/nothing", [:], developers), Row(.DELETE, "/jobs/nothing", nil, developers),
        Row(.GET, "/cloud_code/jobs", nil, developers), Row(.GET, "/cloud_code/jobs/data", nil, developers),
        Row(.POST, "/cloud_code/jobs", [:], developers), Row(.GET, "/scriptlog", nil, developers),
        Row(.GET, "/security", nil, developers), Row(.GET, "/serverInfo", nil, developers),
        Row(.GET, "/operations/log?size=1", nil, developers), Row(.GET, "/operations/metrics", nil, developers),
        Row(.GET, "/operations/jobs?limit=1", nil, developers), Row(.GET, "/operations/functions", nil, developers),
        Row(.GET, "/operations/history", nil, developers),
        Row(.GET, "/operations/shadow", nil, developers), Row(.DELETE, "/operations/shadow", nil, developers),
        Row(.GET, "/operations/books"), Row(.POST, "/operations/books", [:]),
        Row(.GET, "/operations/parked", nil, orders, support, developers),
        Row(.POST, "/operations/parked/retry", [:], orders, support, developers),
        Row(.POST, "/operations/parked/drop", [:], orders, support, developers),
        Row(.GET, "/operations/settings"), Row(.GET, "/operations/config"), Row(.GET, "/operations/backups"),
        Row(.POST, "/push", [:]), Row(.GET, "/push_audiences"),
        Row.masterKeys(.DELETE, "/purge/NeverThere"), Row.masterKeys(.POST, "/loginAs", ["userId": "nobody1234"]),
        Row.masterKeys(.GET, "/aggregate/Product?pipeline=%5B%5D"),
        Row.masterKeys(.DELETE, "/files/never-there.txt"),
    ]

    /// T14a
    @Test func eachRoleDoesWhatIsItsOwnAndNothingElse() async throws {
        let desk = try await Desk.shared
        let customer = try await Customer.signUp(desk.suite).client
        for row in Self.functions + Self.classes + Self.masterKeyRoutes {
            for role in Desk.roles {
                let answer = try await desk.member(of: role).client.call(row.method, row.path, row.body)
                #expect(
                    answer.isForbidden != row.roles.contains(role),
                    "\(role) \(row.method) \(row.path): \(answer.status) \(answer.text.prefix(200))")
            }
            let admins = try await desk.admin.call(row.method, row.path, row.body)
            #expect(
                admins.isForbidden != row.isAdmins, "admins \(row.path): \(admins.status) \(admins.text.prefix(200))")
            for client in [customer, ParseClient(desk.suite)] {
                let answer = try await client.call(row.method, row.path, row.body)
                #expect(answer.isForbidden, "\(row.path): \(answer.status) \(answer.text.prefix(200))")
            }
        }
    }

    /// T14a
    @Test func noOtherWayLeadsToAnotherArea() async throws {
        let desk = try await Desk.shared
        for row in Self.masterKeyRoutes where !row.path.contains("?") {
            for way in Way.allCases where way != .plain {
                for role in Desk.roles {
                    let client = try desk.member(of: role).client
                    let outcome = try await client.go(way, row.method, row.path, row.body)
                    let isRefused =
                        outcome.isForbidden || outcome.text.contains("unauthorized: master key is required")
                    #expect(
                        isRefused != row.roles.contains(role),
                        "\(way) \(role) \(row.method) \(row.path): \(outcome.text.prefix(200))")
                }
            }
        }
    }

    /// T14a: cloud code may have written a secret.
    @Test func aMailOfCloudCodeIsForAdmins() async throws {
        let desk = try await Desk.shared
        let sent = try await ParseClient.master(desk.suite).run(
            "sendShopMail", ["to": "secret@customers.example", "subject": "Hi", "text": "A secret"])
        let mail: JSON = ["id": sent.result.at("mails", 0, "id") ?? .null]
        #expect(try await desk.member(of: "support").client.run("mailContent", mail).code == 119)
        #expect(try await desk.admin.run("mailContent", mail).result["text"] == "A secret")
    }

    /// T14a
    @Test func ordersAreReadByThoseWhoLookAfterThem() async throws {
        let desk = try await Desk.shared
        let shelf = try await Shelf.fill(desk.suite, names: ["Desk \(Names.random(6))"])
        let customer = try await Customer.signUp(desk.suite)
        _ = try await customer.client.run("addToBag", ["productId": .string(shelf.productIds[0])])
        let receipt = try await customer.client.run(
            "checkout",
            ["tokenId": "tok_visa", "idempotencyKey": .string(Names.random(20)), "shippingAddress": Customer.address])
        let id = receipt.result.text("orderId")
        try #require(!id.isEmpty, "\(receipt.text)")
        for role in Desk.roles {
            let reads = ["order-desk", "support"].contains(role)
            let client = try desk.member(of: role).client
            #expect(try await client.get("/classes/Order/\(id)").status == (reads ? 200 : 404), "\(role)")
            #expect(
                try await client.find("Order", ["objectId": .string(id)]).results.count == (reads ? 1 : 0), "\(role)")
            // No role changes an order except through its functions.
            let changed = try await client.call(.PUT, "/classes/Order/\(id)", ["total": 1])
            #expect(changed.status != 200, "\(role): \(changed.text)")
            guard role != "order-desk" else { continue }
            #expect(try await client.run("cancelOrder", ["orderId": .string(id)]).status != 200, "\(role)")
        }
        let clerk = try desk.member(of: "order-desk").client
        let cancelled = try await clerk.run("cancelOrder", ["orderId": .string(id), "reason": "Sold out."])
        #expect(cancelled.status == 200, "\(cancelled.text)")
    }

    /// T14b
    @Test func supportEndsSessionsOfCustomersAlone() async throws {
        let desk = try await Desk.shared
        let support = try desk.member(of: "support").client
        let customer = try await Customer.signUp(desk.suite)
        for role in Desk.roles {
            let colleague: JSON = ["userId": .string(try desk.member(of: role).userId)]
            #expect(try await support.run("revokeSessions", colleague).code == 119, "\(role)")
            #expect(try await support.run("sessionsOf", colleague).code == 119, "\(role)")
        }
        let ended = try await support.run("revokeSessions", ["userId": .string(customer.userId)])
        #expect(ended.result == ["revoked": 1], "\(ended.text)")
        #expect(try await customer.client.get("/users/me").code == 209)
    }

    /// T14k
    @Test func aViewIsItsOperatorsAlone() async throws {
        let desk = try await Desk.shared
        let (clerk, other) = (try desk.member(of: "order-desk").client, try desk.member(of: "support").client)
        let name = JSON.string("Mine \(Names.random(6))")
        let key: JSON = ["list": "orders", "name": name]
        for query in ["state=made", "sort=orderNo&state=made"] {
            var view = key
            view["query"] = .string(query)
            let saved = try await clerk.run("saveDeskView", view)
            #expect(saved.status == 200, "\(saved.text)")
        }
        func views(_ client: ParseClient) async throws -> [JSON] {
            try await client.run("deskViews").result.arrayValue?.filter { $0["name"] == name } ?? []
        }
        #expect(try await views(clerk).map { $0["query"] } == ["sort=orderNo&state=made"])
        for client in [other, desk.admin] { #expect(try await views(client).isEmpty) }
        #expect(try await other.run("removeDeskView", key).code == 101)
        // The master key belongs to no user.
        #expect(try await ParseClient.master(desk.suite).run("deskViews").code == 209)
        #expect(try await clerk.run("removeDeskView", key).status == 200)
        #expect(try await views(clerk).isEmpty)
    }

    @Test func theDeskIsToldWhichAreasItHas() async throws {
        let desk = try await Desk.shared
        let areas = ["catalog-editors": "catalog", "order-desk": "orders"]
        for role in Desk.roles {
            let client = try desk.member(of: role).client
            let answer = try await client.run("myAreas")
            #expect(answer.result["areas"] == [.string(areas[role] ?? role)], "\(answer.text)")
            // A session for a device with restricted rights has none of these rights.
            let made = try await client.call(.POST, "/sessions", ["device": "till"])
            var till = client
            till.sessionToken = made["sessionToken"]?.stringValue
            #expect(try await till.run("myAreas").result["areas"] == [], "\(role)")
        }
        let all = try await desk.admin.run("myAreas")
        #expect(all.result["areas"] == ["catalog", "orders", "support", "developers", "admins"], "\(all.text)")
        #expect(try await Customer.signUp(desk.suite).client.run("myAreas").result["areas"] == [])
        #expect(try await ParseClient(desk.suite).run("myAreas").code == 209)
    }
}
