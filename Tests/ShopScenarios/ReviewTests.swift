import ParseProtocol
import TestSupport
import Testing

/// Customers review products and admins moderate: one review per customer, a correct average at all times, and no leak
/// of hidden reviews.
@Suite struct ReviewTests {
    private static func product(_ suite: Suite) async throws -> String {
        try await Shelf.fill(suite, names: ["Reviewed \(Names.random(6))"]).productIds[0]
    }

    private static func review(
        _ product: String, _ rating: JSON, by client: ParseClient, content: String = "Good."
    ) async throws -> ParseClient.Answer {
        try await client.create(
            "ProductReview", ["product": .pointer("Product", product), "rating": rating, "content": .string(content)])
    }

    private static func ratings(_ suite: Suite, _ product: String) async throws -> [JSON?] {
        let answer = try await ParseClient(suite).get("/classes/Product/\(product)")
        return [answer["ratingAverage"], answer["ratingCount"]]
    }

    /// The reviews of a product as a client sees them.
    private static func seen(_ product: String, by client: ParseClient) async throws -> Set<String> {
        Set(try await client.find("ProductReview", ["product": .pointer("Product", product)]).results.map(\.objectId))
    }

    @Test func averageAndCountAreExactWhenManyReviewAtOnce() async throws {
        let suite = try await Suite.shared
        let product = try await Self.product(suite)
        let stars: [Int64] = [1, 2, 3, 4, 5, 5, 5, 2, 1, 4]
        let reviews = try await withThrowingTaskGroup(of: (ParseClient, String).self) { group in
            for rating in stars {
                group.addTask {
                    let client = try await Customer.signUp(suite).client
                    let answer = try await Self.review(product, .int(rating), by: client)
                    guard answer.status == 201 else { throw Unexpected("POST ProductReview", answer) }
                    return (client, answer.objectId)
                }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(try await Self.ratings(suite, product) == [3.2, 10])
        // Half of the customers change their review at the same time, and two delete it.
        try await withThrowingTaskGroup(of: Void.self) { group in
            for (index, (client, id)) in reviews.enumerated() {
                group.addTask {
                    let path = "/classes/ProductReview/\(id)"
                    let answer =
                        index < 2
                        ? try await client.call(.DELETE, path) : try await client.call(.PUT, path, ["rating": 3])
                    guard answer.status == 200 else { throw Unexpected(path, answer) }
                }
            }
            try await group.waitForAll()
        }
        #expect(try await Self.ratings(suite, product) == [3, 8])
    }

    @Test func aCustomerHasOneReviewOfAProductAndMayChangeIt() async throws {
        let suite = try await Suite.shared
        let product = try await Self.product(suite)
        let customer = try await Customer.signUp(suite)
        let other = try await customer.signInAgain()
        let answers = try await withThrowingTaskGroup(of: ParseClient.Answer.self) { group in
            for client in [customer.client, other, customer.client, other] {
                group.addTask { try await Self.review(product, 4, by: client) }
            }
            return try await group.reduce(into: []) { $0.append($1) }
        }
        #expect(answers.filter { $0.status == 201 }.count == 1)
        #expect(answers.filter { $0.code == 137 }.count == 3, "\(answers.map(\.text))")
        #expect(try await Self.ratings(suite, product) == [4, 1])
        let id = answers.first { $0.status == 201 }?.objectId ?? ""
        #expect(
            try await other.call(.PUT, "/classes/ProductReview/\(id)", ["rating": 2, "content": "Hm."]).status == 200)
        #expect(try await Self.ratings(suite, product) == [2, 1])
        #expect(try await customer.client.call(.DELETE, "/classes/ProductReview/\(id)").status == 200)
        #expect(try await Self.review(product, 5, by: customer.client).status == 201)
        #expect(try await Self.ratings(suite, product) == [5, 1])
    }

    @Test func aNewDisplayNameReachesTheReviewsThatShowTheOldOne() async throws {
        let suite = try await Suite.shared
        let (first, second) = (try await Self.product(suite), try await Self.product(suite))
        let customer = try await Customer.signUp(suite)
        func rename(_ name: JSON) async throws {
            let answer = try await customer.client.call(
                .PUT, "/users/\(customer.userId)", ["displayName": name])
            try #require(answer.status == 200, "\(answer.text)")
        }
        try await rename("Ann of Ulm")
        let review = try await Self.review(first, 4, by: customer.client)
        #expect(review["authorName"] == "Ann of Ulm", "\(review.text)")
        let own: JSON = ["product": .pointer("Product", second), "content": "Hm.", "authorName": "A shopper"]
        let other = try await customer.client.create("ProductReview", own)
        for name in ["Anna of Ulm", "Ann of Bern"] as [JSON] {
            try await rename(name)
            try await eventually("the review shows the new name", within: .seconds(20)) {
                try await ParseClient(suite).get("/classes/ProductReview/\(review.objectId)")["authorName"] == name
            }
        }
        try await rename(["__op": "Delete"])
        try await eventually("the review shows no name", within: .seconds(20)) {
            try await ParseClient(suite).get("/classes/ProductReview/\(review.objectId)")["authorName"] == nil
        }
        let kept = try await ParseClient(suite).get("/classes/ProductReview/\(other.objectId)")
        #expect(kept["authorName"] == "A shopper", "\(kept.text)")
        #expect(try await Self.ratings(suite, first) == [4, 1])
    }

    @Test func onlySignedUpUsersReviewAndOnlyWithWholeStars() async throws {
        let suite = try await Suite.shared
        let product = try await Self.product(suite)
        let anonymous = try await Customer.anonymous(suite).client
        #expect(try await Self.review(product, 5, by: anonymous).code == 119)
        let stranger = try await Self.review(product, 5, by: ParseClient(suite))
        #expect(stranger.status >= 400, "\(stranger.text)")
        #expect(stranger.code == 101, "\(stranger.text)")
        let client = try await Customer.signUp(suite).client
        for rating in [0, 6, 4.5, -1] as [JSON] {
            #expect(try await Self.review(product, rating, by: client).code == 142)
        }
        #expect(try await Self.review(product, "5", by: client).code == 111)
        #expect(try await Self.ratings(suite, product) == [nil, nil])
    }

    @Test func aHiddenReviewCountsForNothingAndOnlyItsAuthorAndAdminsSeeIt() async throws {
        let suite = try await Suite.shared
        let product = try await Self.product(suite)
        let (author, reader) = (try await Customer.signUp(suite).client, try await Customer.signUp(suite).client)
        let (admin, stranger) = (try await Customer.admin(suite), ParseClient(suite))
        let rude = try await Self.review(product, 1, by: author, content: "Rude.").objectId
        let kind = try await Self.review(product, 5, by: reader).objectId
        #expect(try await Self.ratings(suite, product) == [3, 2])
        #expect(try await Self.seen(product, by: stranger) == [rude, kind])

        for client in [author, reader, stranger] {
            #expect(try await client.run("hideReview", ["reviewId": .string(rude)]).code == 119)
        }
        let hidden = try await admin.run("hideReview", ["reviewId": .string(rude), "reason": "Insults."])
        #expect(hidden.result["moderation"] == "hidden", "\(hidden.text)")
        #expect(try await Self.ratings(suite, product) == [5, 1])
        #expect(try await Self.seen(product, by: stranger) == [kind])
        #expect(try await Self.seen(product, by: reader) == [kind])
        #expect(try await stranger.get("/classes/ProductReview/\(rude)").status == 404)
        #expect(try await Self.seen(product, by: admin) == [rude, kind])
        let own = try await author.get("/classes/ProductReview/\(rude)")
        #expect(own["moderation"] == "hidden")
        #expect(own["moderationReason"] == "Insults.")

        // The author may edit it, but can neither show it nor make it count.
        let mended = try await author.call(
            .PUT, "/classes/ProductReview/\(rude)",
            ["content": "Not for me.", "rating": 2, "moderation": "visible", "ACL": ["*": ["read": true]]])
        #expect(mended.status == 200, "\(mended.text)")
        #expect(try await Self.seen(product, by: stranger) == [kind])
        #expect(try await Self.ratings(suite, product) == [5, 1])
        #expect(try await Self.review(product, 5, by: author).code == 137)

        let shown = try await admin.run("showReview", ["reviewId": .string(rude)])
        #expect(shown.result["moderation"] == "visible")
        #expect(shown.result["moderationReason"] == nil)
        #expect(try await Self.ratings(suite, product) == [3.5, 2])
        #expect(try await Self.seen(product, by: stranger) == [rude, kind])
        #expect(try await admin.run("hideReview", ["reviewId": "nothing123"]).code == 101)
        #expect(try await admin.run("hideReview", [:]).code == 142)
    }

    @Test func deletingAHiddenReviewAndWritingItAnewDoesNotShowIt() async throws {
        let suite = try await Suite.shared
        let product = try await Self.product(suite)
        let author = try await Customer.signUp(suite).client
        let admin = try await Customer.admin(suite)
        let first = try await Self.review(product, 1, by: author).objectId
        #expect(try await admin.run("hideReview", ["reviewId": .string(first)]).status == 200)
        #expect(try await author.call(.DELETE, "/classes/ProductReview/\(first)").status == 200)
        let second = try await Self.review(product, 1, by: author).objectId
        #expect(try await author.get("/classes/ProductReview/\(second)")["moderation"] == "hidden")
        #expect(try await Self.seen(product, by: ParseClient(suite)).isEmpty)
        #expect(try await Self.ratings(suite, product) == [nil, 0])
        // It waits for an admin after its creation and after each change.
        func isListed() async throws -> Bool {
            let list = try await admin.run("reviewsToModerate", ["limit": 1000]).result.arrayValue ?? []
            return list.contains { $0.objectId == second }
        }
        #expect(try await isListed())
        #expect(try await admin.run("hideReview", ["reviewId": .string(second)]).status == 200)
        #expect(try await !isListed())
        #expect(try await author.call(.PUT, "/classes/ProductReview/\(second)", ["content": "Fine."]).status == 200)
        #expect(try await isListed())
        #expect(try await admin.run("showReview", ["reviewId": .string(second)]).status == 200)
        #expect(try await Self.seen(product, by: ParseClient(suite)) == [second])
        #expect(try await Self.ratings(suite, product) == [1, 1])
    }

    @Test func reportsPutAReviewOnTheAdminsListUntilTheyDecide() async throws {
        let suite = try await Suite.shared
        let product = try await Self.product(suite)
        let admin = try await Customer.admin(suite)
        var people: [ParseClient] = []
        for _ in 0..<3 { people.append(try await Customer.signUp(suite).client) }
        let first = try await Self.review(product, 1, by: people[0]).objectId
        let second = try await Self.review(product, 2, by: people[1]).objectId
        func report(_ id: String, by client: ParseClient) async throws -> ParseClient.Answer {
            try await client.run("reportReview", ["reviewId": .string(id)])
        }
        func listed() async throws -> [JSON] {
            let answer = try await admin.run("reviewsToModerate", ["limit": 1000])
            return (answer.result.arrayValue ?? []).filter { [first, second].contains($0.objectId) }
        }
        #expect(try await listed().isEmpty)
        #expect(try await report(second, by: people[0]).result == ["reported": true])
        #expect(try await report(first, by: people[1]).status == 200)
        for _ in 0..<2 { #expect(try await report(first, by: people[2]).status == 200) }
        let list = try await listed()
        #expect(list.map(\.objectId) == [first, second], "\(list)")
        #expect(list.map { $0["reports"] } == [2, 1], "\(list)")
        #expect(list.first?["className"] == "ProductReview")
        #expect(list.first?["lastReportedAt"]?.wireType == "Date")
        #expect(try await people[0].run("reviewsToModerate").code == 119)

        // The admin keeps one and hides the other. The same customers cannot report it again, but another one can.
        #expect(try await admin.run("showReview", ["reviewId": .string(first)]).status == 200)
        #expect(try await admin.run("hideReview", ["reviewId": .string(second)]).status == 200)
        #expect(try await listed().isEmpty)
        #expect(try await report(first, by: people[1]).status == 200)
        #expect(try await listed().isEmpty)
        let newcomer = try await Customer.signUp(suite).client
        #expect(try await report(first, by: newcomer).status == 200)
        #expect(try await listed().map(\.objectId) == [first])
        #expect(try await report(second, by: newcomer).code == 101)

        #expect(try await report(first, by: ParseClient(suite)).code == 209)
        #expect(try await report(first, by: try await Customer.anonymous(suite).client).code == 119)
        #expect(try await report("", by: newcomer).code == 142)
    }

    @Test func aDeletedAccountLeavesItsReviewsWithoutTheName() async throws {
        let suite = try await Suite.shared
        let product = try await Self.product(suite)
        let customer = try await Customer.signUp(suite)
        let id = try await Self.review(product, 4, by: customer.client).objectId
        let favourite = try await customer.client.create("FavoriteProduct", ["product": .pointer("Product", product)])
        #expect(try await customer.client.call(.DELETE, "/users/\(customer.userId)").status == 200)
        try await eventually("the name is gone from the review") {
            let review = try await ParseClient(suite).get("/classes/ProductReview/\(id)")
            return review.status == 200 && review["rating"] == 4 && !review.text.contains(customer.userId)
        }
        let master = ParseClient.master(suite)
        #expect(try await master.get("/classes/FavoriteProduct/\(favourite.objectId)").status == 404)
        #expect(try await Self.ratings(suite, product) == [4, 1])
    }

    @Test func aDeletedProductTakesItsReviewsAndFavouritesAlong() async throws {
        let suite = try await Suite.shared
        let product = try await Self.product(suite)
        let customer = try await Customer.signUp(suite).client
        #expect(try await Self.review(product, 5, by: customer).status == 201)
        #expect(try await customer.create("FavoriteProduct", ["product": .pointer("Product", product)]).status == 201)
        #expect(try await Customer.admin(suite).call(.DELETE, "/classes/Product/\(product)").status == 200)
        #expect(try await Self.seen(product, by: customer).isEmpty)
        let favourites = try await customer.find("FavoriteProduct", ["product": .pointer("Product", product)])
        #expect(favourites.results.isEmpty)
        #expect(favourites.status == 200)
    }
}
