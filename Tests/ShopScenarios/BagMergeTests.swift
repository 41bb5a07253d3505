import Foundation
import ParseProtocol
import TestSupport
import Testing

/// A shopper fills the bag before signing in. A sign-in to an account keeps the bag.
@Suite struct BagMergeTests {
    @Test func anonymousBagIsMergedAtLogin() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Both \(Names.random(4))", "One \(Names.random(4))"], stock: 4)
        let account = try await Customer.signUp(suite)
        _ = try await account.client.run("addToBag", ["productId": .string(shelf.productIds[0]), "quantity": 2])
        let (anonymous, _) = try await Customer.anonymous(suite)
        for product in shelf.productIds {
            let added = try await anonymous.run("addToBag", ["productId": .string(product), "quantity": 3])
            #expect(added.status == 200, "\(added.text)")
        }
        // The app signs in while it still has the anonymous session's token.
        var device = anonymous
        let login = try await device.call(
            .POST, "/login", ["username": .string(account.email), "password": .string(account.password)])
        device.sessionToken = try #require(login["sessionToken"]?.stringValue, "\(login.text)")
        let bag = try await device.run("bag")
        let quantities = (bag.result["items"]?.arrayValue ?? []).reduce(into: [String: Int64]()) {
            $0[$1.at("product", "objectId")?.stringValue ?? ""] = $1["quantity"]?.intValue
        }
        // Two and three of the first product, of which four are in stock.
        #expect(quantities == [shelf.productIds[0]: 4, shelf.productIds[1]: 3])
        #expect(bag.result["badgeCount"] == 7)
        let open = try await suite.rows(
            "bag",
            """
            SELECT count(*) FROM checkouts WHERE state IN ('started', 'reserved', 'charged') \
            AND customerId = '\(account.userId)'
            """
        )
        #expect(open == [[0]])
        let paid = try await device.run("checkout", ["tokenId": "tok_visa", "shippingAddress": Customer.address])
        #expect(paid.status == 200, "\(paid.text)")
    }

    private static func device(_ suite: Suite) -> ParseClient {
        var device = ParseClient(suite)
        device.installationId = UUID().uuidString.lowercased()
        return device
    }

    /// The app's first start on a device: an anonymous user with products in the bag.
    private static func fill(_ device: ParseClient, _ product: String, _ quantity: Int64) async throws -> ParseClient {
        var device = device
        let id: JSON = .string(UUID().uuidString.lowercased())
        let user = try await device.call(.POST, "/users", ["authData": ["anonymous": ["id": id]]])
        device.sessionToken = try #require(user["sessionToken"]?.stringValue, "\(user.text)")
        let added = try await device.run("addToBag", ["productId": .string(product), "quantity": .int(quantity)])
        #expect(added.status == 200, "\(added.text)")
        return device
    }

    /// The iOS SDK's log-in, which drops the anonymous session's token.
    private static func logIn(_ device: ParseClient, _ account: Customer) async throws -> ParseClient {
        var device = device
        device.sessionToken = nil
        let login = try await device.call(
            .POST, "/login", ["username": .string(account.email), "password": .string(account.password)])
        device.sessionToken = try #require(login["sessionToken"]?.stringValue, "\(login.text)")
        return device
    }

    private static func badge(_ client: ParseClient) async throws -> JSON? {
        try await client.run("bag").result["badgeCount"]
    }

    @Test func aLogInWithoutTheTokenTakesTheLinesOfTheDevicesBag() async throws {
        let suite = try await Suite.shared
        let product = try await Shelf.fill(suite, names: ["Left \(Names.random(4))"]).productIds[0]
        let account = try await Customer.signUp(suite)
        let device = Self.device(suite)
        let anonymous = try await Self.fill(device, product, 3)
        let texts: JSON = ["note": "Ring", "giftMessage": "For you", "shippingAddress": Customer.address]
        let bag = try await anonymous.run("bag").result.text("orderId")
        #expect(try await anonymous.call(.PUT, "/classes/Order/\(bag)", texts).status == 200)
        #expect(try await anonymous.create("Address", Customer.address).status == 201)

        var signedIn = try await Self.logIn(device, account)
        #expect(try await Self.badge(signedIn) == 3)
        let order = try await signedIn.find("Order", ["orderStatus": 0]).results.first
        for name in texts.objectValue?.keys.sorted() ?? [] { #expect(order?[name] == nil, "\(name)") }
        #expect(try await signedIn.find("Address").results.isEmpty)
        // A client chooses the installation header freely, so the anonymous user keeps its data.
        #expect(try await Self.badge(anonymous) == 3)
        #expect(try await anonymous.find("Address").results.count == 1)

        // The next log-in on the device adds nothing. A new anonymous bag is merged like the first one.
        #expect(try await signedIn.call(.POST, "/logout").status == 200)
        signedIn = try await Self.logIn(device, account)
        #expect(try await Self.badge(signedIn) == 3)
        #expect(try await signedIn.call(.POST, "/logout").status == 200)
        _ = try await Self.fill(device, product, 1)
        #expect(try await Self.badge(Self.logIn(device, account)) == 4)
    }

    /// An attacker with a known or guessed installation id, and ids that do not belong to one device.
    @Test func anInstallationsIdOpensNoOtherBag() async throws {
        let suite = try await Suite.shared
        let product = try await Shelf.fill(suite, names: ["Safe \(Names.random(4))"]).productIds[0]
        let (victim, thief) = (try await Customer.signUp(suite), try await Customer.signUp(suite))

        // The device's owner has signed in since; the bag belongs to the account.
        let used = Self.device(suite)
        _ = try await Self.fill(used, product, 2)
        let owner = try await Self.logIn(used, victim)
        #expect(try await Self.badge(owner) == 2)
        #expect(try await Self.badge(Self.logIn(used, thief)) == 0)
        #expect(try await Self.badge(owner) == 2)

        // The same after the owner signed out, when no session of an account remains.
        #expect(try await owner.call(.POST, "/logout").status == 200)
        #expect(try await Self.badge(Self.logIn(used, thief)) == 0)

        // Two anonymous users with one installation id.
        let shared = Self.device(suite)
        let users = [try await Self.fill(shared, product, 2), try await Self.fill(shared, product, 5)]
        #expect(try await Self.badge(Self.logIn(shared, thief)) == 0)
        #expect(try await Self.badge(users[0]) == 2)

        // An anonymous user whose last session is on another device.
        let former = Self.device(suite)
        var moved = former
        let id: JSON = .string(UUID().uuidString.lowercased())
        for step in [former, Self.device(suite)] {
            moved.installationId = step.installationId
            let user = try await moved.call(.POST, "/users", ["authData": ["anonymous": ["id": id]]])
            moved.sessionToken = try #require(user["sessionToken"]?.stringValue, "\(user.text)")
        }
        _ = try await moved.run("addToBag", ["productId": .string(product)])
        #expect(try await Self.badge(Self.logIn(former, thief)) == 0)

        // Invalid ids, and the id of an unused device.
        for id in ["", "*", String(repeating: "x", count: 200), UUID().uuidString] {
            var stranger = ParseClient(suite)
            stranger.installationId = id
            #expect(try await Self.badge(Self.logIn(stranger, thief)) == 0)
        }
    }
}
