import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// T6c: quotas per user and address limit users, devices, bags and customers' objects.
@Suite struct AccountQuotaTests {
    @Test func newUsersArePacedByAddress() async throws {
        let suite = try await QuotaSuites.small
        let home = Neighbour(suite)
        let (admitted, refusal) = try await Neighbour.count(20) { _ in try await home.signUp() }
        #expect(admitted == 5, "\(admitted) users, \(refusal?.text ?? "never refused")")
        #expect(refusal?.isPaced == true, "\(admitted) users, \(refusal?.text ?? "never refused")")
        #expect(try await Neighbour(suite).signUp().status == 201)
        // Existing accounts can still sign in there, and the operator can create accounts.
        let admin = try await Customer.admin(suite)
        #expect(admin.sessionToken != nil)
        for _ in 0..<8 {
            let user: JSON = ["username": .string(Names.random(10)), "password": "a-long-one"]
            #expect(try await ParseClient.master(suite).call(.POST, "/users", user).status == 201)
        }
    }

    /// Behind a provider's NAT, hundreds of phones may start an app for the first time within an hour.
    @Test func firstStartsBehindOneAddressGoOn() async throws {
        let suite = try await QuotaSuites.standard
        let gateway = Neighbour(suite)
        let (admitted, refusal) = try await Neighbour.count(400) { _ in try await gateway.signUp() }
        #expect(admitted == 400, "\(refusal?.text ?? "")")
    }

    @Test func devicesArePacedByAddressAndBoundedByUser() async throws {
        let suite = try await QuotaSuites.small
        func device() -> JSON { ["deviceType": "ios", "installationId": .string(Names.random(20).lowercased())] }
        let home = Neighbour(suite)
        let known = device()
        let first = try await home.call(.POST, "/installations", known)
        #expect(first.status == 201, "\(first.text)")
        let created = try await Neighbour.count(10) { _ in try await home.call(.POST, "/installations", device()) }
        #expect(created.admitted == 2, "\(created)")
        #expect(created.refusal?.isPaced == true, "\(created)")
        #expect(try await home.call(.POST, "/installations", known).objectId == first.objectId, "It is known.")
        for _ in 0..<6 {
            #expect(try await ParseClient.master(suite).call(.POST, "/installations", device()).status == 201)
        }
        let ann = try await Neighbour(suite).anonymousUser()
        var own = device()
        own["user"] = ann.pointer
        let named = try await Neighbour.count(3) { index in
            own["installationId"] = .string("\(Names.random(18).lowercased())\(index)")
            return try await ann.call(.POST, "/installations", own)
        }
        #expect(named.admitted == 2, "\(named)")
        #expect(named.refusal?.code == 142, "\(named)")
    }

    @Test func bagsAndWhatCustomersKeepAreBounded() async throws {
        let suite = try await QuotaSuites.small
        let shelf = try await Shelf.fill(suite, names: ["Soap", "Salt", "Sand", "Silk"])
        let products = shelf.productIds.map { JSON.pointer("Product", $0) }
        let ann = try await Neighbour(suite).user()
        let bags = try await Neighbour.count(6) { _ in
            let added = try await ann.call(
                .POST, "/functions/addToBag", ["productId": .string(shelf.productIds[0])])
            guard added.status == 200 else { return added }
            return try await ann.call(.POST, "/functions/emptyBag")
        }
        #expect(bags.admitted == 2, "\(bags)")
        #expect(bags.refusal?.isPaced == true, "\(bags)")
        let loose = try await Neighbour.count(9) { _ in
            try await ann.call(.POST, "/classes/OrderItem", ["product": products[0], "quantity": 1])
        }
        #expect(loose.admitted == 6, "\(loose)")
        #expect(loose.refusal?.code == 142, "\(loose)")

        let bob = try await Neighbour(suite).user()
        let favourites = try await Neighbour.count(4) { index in
            try await bob.call(.POST, "/classes/FavoriteProduct", ["product": products[index]])
        }
        #expect(favourites.admitted == 2, "\(favourites)")
        #expect(favourites.refusal?.code == 142, "\(favourites)")
        let again = try await bob.call(.POST, "/classes/FavoriteProduct", ["product": products[0]])
        #expect(again.status < 300, "It is there.")
        let reviews = try await Neighbour.count(4) { index in
            try await bob.call(
                .POST, "/classes/ProductReview", ["product": products[index], "rating": 5, "content": "Fine."])
        }
        #expect(reviews.admitted == 2, "\(reviews)")
        #expect(reviews.refusal?.isPaced == true, "\(reviews)")
    }
}
