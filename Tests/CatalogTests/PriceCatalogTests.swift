import CatalogService
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import ServiceSupport
import Testing

/// The products that the catalog accepts from clients.
@Suite struct PriceCatalogTests {
    private let sandbox: SandboxStore
    private let serum: String

    init() async throws {
        sandbox = try await SandboxStore(catalogPlan(.standard))
        serum = try await sandbox.apply(
            .create, "Product", nil, ["name": "Serum", "unitPrice": 3.5, "stock": 5, "ratingCount": 99], as: .satchel
        ).objectId
    }

    private func review(_ rating: JSON, as user: String = "alice") async throws -> String {
        try await sandbox.apply(
            .create, "ProductReview", nil,
            ["product": .pointer("Product", serum), "content": "Good.", "rating": rating],
            as: .user(user)
        ).objectId
    }

    private func ratings() async throws -> [JSON?] {
        let product = try await sandbox.document("Product", serum)
        return [product["ratingAverage"], product["ratingCount"]]
    }

    @Test func aNewProductIsActiveAndBringsNoRatings() async throws {
        #expect(try await sandbox.document("Product", serum)["active"] == true)
        #expect(try await ratings() == [nil, nil])
    }

    @Test(
        arguments: [
            ["unitPrice": 1.005], ["unitPrice": -1], ["unitPrice": ["__op": "Delete"]], ["stock": -1], ["stock": 1.5],
            ["stock": ["__op": "Increment", "amount": -6]], ["name": " "],
            ["name": .string(String(repeating: "é", count: 251))],
        ] as [JSON])
    func badProductsAreRefused(_ change: JSON) async throws {
        let before = try await sandbox.document("Product", serum)
        let error = await parseError { try await sandbox.apply(.update, "Product", serum, change, as: .satchel) }
        #expect(error?.code == .validationError)
        #expect(try await sandbox.document("Product", serum) == before)
    }

    @Test func onlyAdminsWriteInAppProducts() async throws {
        let product: JSON = [
            "productIdentifier": "a", "title": "A", "subtitle": "The first", "order": 1,
            "icon": ["__type": "File", "name": "icon.png"],
        ]
        let error = await parseError { try await sandbox.apply(.create, "_Product", nil, product, as: .user("alice")) }
        #expect(error?.code == .operationForbidden)
        try await sandbox.apply(.create, "_Product", nil, product, as: .with { $0.roles = ["admins"] })
    }

    @Test func onlyAdminsWriteProducts() async throws {
        let error = await parseError {
            try await sandbox.apply(.update, "Product", serum, ["unitPrice": 0.01], as: .user("alice"))
        }
        #expect(error?.code == .operationForbidden)
    }

    @Test func reviewsKeepAverageAndCount() async throws {
        let first = try await review(5)
        _ = try await review(4, as: "bob")
        _ = try await review(.null, as: "carol")
        #expect(try await ratings() == [4.5, 2])
        try await sandbox.apply(.update, "ProductReview", first, ["rating": 1], as: .user("alice"))
        #expect(try await ratings() == [2.5, 2])
        try await sandbox.apply(.delete, "ProductReview", first, as: .user("alice"))
        #expect(try await ratings() == [4, 1])
        for rating: JSON in [0, 6, 4.5] {
            #expect(await parseError { _ = try await review(rating) }?.code == .validationError)
        }
        #expect(try await ratings() == [4, 1])
    }

    @Test func aReviewBelongsToItsAuthor() async throws {
        let id = try await review(5)
        let document = try await sandbox.document("ProductReview", id)
        #expect(document["user"]?.pointerTarget?.objectId == "alice")
        #expect(document["ACL"]?["*"] == ["read": true])
        for (user, change): (String, JSON) in [("bob", ["content": "Bad."]), ("bob", ["ACL": [:]])] {
            let error = await parseError {
                try await sandbox.apply(.update, "ProductReview", id, change, as: .user(user))
            }
            #expect(error == .objectNotFound)
        }
        let stolen = await parseError {
            try await sandbox.apply(
                .create, "ProductReview", nil,
                ["user": .pointer("_User", "alice"), "product": .pointer("Product", serum)],
                as: .user("bob"))
        }
        #expect(stolen?.code == .operationForbidden)
        let given = await parseError {
            try await sandbox.apply(
                .update, "ProductReview", id, ["user": .pointer("_User", "bob")], as: .user("alice"))
        }
        #expect(given?.code == .operationForbidden)
        let unknown = await parseError {
            try await sandbox.apply(
                .create, "ProductReview", nil, ["product": .pointer("Product", "nothing123")], as: .user("bob"))
        }
        #expect(unknown == .objectNotFound)
        let nobody = await parseError {
            try await sandbox.apply(
                .create, "ProductReview", nil, ["product": .pointer("Product", serum)], as: Principal())
        }
        #expect(nobody?.code == .objectNotFound)
    }

    @Test func aFavoriteIsKeptOnce() async throws {
        let favorite: JSON = ["product": .pointer("Product", serum)]
        let first = try await sandbox.apply(.create, "FavoriteProduct", nil, favorite, as: .user("alice"))
        let second = try await sandbox.apply(.create, "FavoriteProduct", nil, favorite, as: .user("alice"))
        #expect(second.answer == first.answer)
        let other = try await sandbox.apply(.create, "FavoriteProduct", nil, favorite, as: .user("bob"))
        #expect(other.objectId != first.objectId)
        let document = try await sandbox.document("FavoriteProduct", first.objectId)
        #expect(document["ACL"] == .privateACL("alice"))
        #expect(document["customer"]?.pointerTarget?.objectId == "alice")
        let anonymous = await parseError {
            try await sandbox.apply(.create, "FavoriteProduct", nil, favorite, as: .user("guest", anonymous: true))
        }
        #expect(anonymous?.code == .operationForbidden)
        let unknown = await parseError {
            try await sandbox.apply(
                .create, "FavoriteProduct", nil, ["product": .pointer("Product", "nothing123")], as: .user("alice"))
        }
        #expect(unknown == .objectNotFound)
    }
}
