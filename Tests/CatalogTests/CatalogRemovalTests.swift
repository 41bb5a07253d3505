import CatalogService
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import ServiceSupport
import Testing

/// Which objects are deleted with a product or an account, and which remain.
@Suite struct CatalogRemovalTests {
    private let sandbox: SandboxStore
    private let serum: String
    private let cream: String

    init() async throws {
        sandbox = try await SandboxStore(catalogPlan(.standard))
        serum = try await Self.product("Serum", sandbox)
        cream = try await Self.product("Cream", sandbox)
    }

    private static func product(_ name: String, _ sandbox: SandboxStore) async throws -> String {
        try await sandbox.apply(
            .create, "Product", nil, ["name": .string(name), "unitPrice": 3.5], as: .satchel
        ).objectId
    }

    @discardableResult
    private func review(_ product: String, _ user: String, rating: JSON = 4) async throws -> String {
        try await sandbox.apply(
            .create, "ProductReview", nil, ["product": .pointer("Product", product), "rating": rating], as: .user(user)
        ).objectId
    }

    private func like(_ product: String, _ user: String) async throws {
        try await sandbox.apply(
            .create, "FavoriteProduct", nil, ["product": .pointer("Product", product)], as: .user(user))
    }

    private func count(_ className: String, _ condition: JSON = [:]) async throws -> Int {
        try await sandbox.store.read {
            try $0.count(Query(className: className, where: condition), caller: .master)
        }
    }

    @Test func aDeletedProductTakesItsReviewsReportsAndFavouritesAlong() async throws {
        let reported = try await review(serum, "alice")
        try await review(serum, "bob")
        try await review(cream, "alice")
        try await like(serum, "alice")
        try await like(cream, "alice")
        try await sandbox.store.write { try ReviewReports.add(reported, by: "bob", in: $0) }
        try await sandbox.apply(.delete, "Product", serum, as: .satchel)
        #expect(try await count("ProductReview") == 1)
        #expect(try await count("FavoriteProduct") == 1)
        #expect(try await sandbox.count("SELECT count(*) FROM reviewReports") == 0)
        #expect(try await sandbox.count("SELECT count(*) FROM productRatings") == 1)
        #expect(try await sandbox.document("Product", cream)["ratingCount"] == 1)
    }

    /// More than one transaction may delete: the rest is deleted in the background, and remembered after a crash.
    @Test func aVeryPopularProductIsClearedInSteps() async throws {
        let extra = 25
        let product = JSON.pointer("Product", serum)
        _ = try await sandbox.store.write { transaction in
            for index in 0..<(ProductRemoval.objectsMax + extra) {
                _ = try transaction.create(
                    "ProductReview", ["product": product, "user": .pointer("_User", "u\(index)"), "rating": 5],
                    caller: .master)
            }
        }
        try await like(serum, "alice")
        try await sandbox.apply(.delete, "Product", serum, as: .satchel)
        #expect(try await count("ProductReview") == extra)
        #expect(try await sandbox.count("SELECT count(*) FROM removedProducts") == 1)
        #expect(try await sandbox.store.write { try ProductRemoval.goOn(in: $0) })
        #expect(try await sandbox.store.write { try ProductRemoval.goOn(in: $0) } == false)
        #expect(try await count("ProductReview") == 0)
        #expect(try await count("FavoriteProduct") == 0)
        #expect(try await sandbox.count("SELECT count(*) FROM removedProducts") == 0)
    }

    @Test func aDeletedAccountLosesItsFavouritesAndItsNameButNotItsRatings() async throws {
        let kept = try await review(serum, "alice", rating: 5)
        try await review(serum, "bob", rating: 2)
        let hidden = try await review(cream, "alice")
        let other = try await review(cream, "bob")
        try await like(serum, "alice")
        try await like(serum, "bob")
        try await sandbox.store.write { transaction in
            _ = try ReviewModeration.hidden.apply(to: hidden, in: transaction)
            try ReviewReports.add(other, by: "alice", in: transaction)
        }
        // The message is delivered at least once; the second delivery finds nothing to do.
        for _ in 0..<2 { try await sandbox.store.write { try AccountDeletion.forget("alice", in: $0) } }

        let review = try await sandbox.document("ProductReview", kept)
        #expect(review["user"] == nil)
        #expect(review["rating"] == 5)
        #expect(review["ACL"] == ["*": ["read": true], "role:admins": ["read": true, "write": true]])
        #expect(
            try await sandbox.document("ProductReview", hidden)["ACL"] == [
                "role:admins": ["read": true, "write": true], "role:catalog-editors": ["read": true],
                "role:support": ["read": true],
            ])
        let product = try await sandbox.document("Product", serum)
        #expect(product["ratingAverage"] == 3.5)
        #expect(product["ratingCount"] == 2)
        #expect(try await count("FavoriteProduct", ["customer": .pointer("_User", "alice")]) == 0)
        #expect(try await count("FavoriteProduct") == 1)
        #expect(try await sandbox.count("SELECT count(*) FROM reviewReports WHERE userId = 'alice'") == 0)
        // No object refers to her any more.
        #expect(try await count("ProductReview", ["user": .pointer("_User", "alice")]) == 0)
    }
}
