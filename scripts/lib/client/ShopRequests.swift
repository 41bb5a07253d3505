import Foundation
import ParseProtocol

/// The requests of a shopper's app.
extension Request {
    /// The first ten brands by title, which the app shows first.
    package static var brands: Request { Request(path: "/classes/Category", query: ["order": "title", "limit": 10]) }

    /// The first page of a brand's products, sorted by name.
    package static func products(ofBrand id: String) -> Request {
        let condition: JSON = ["brand": .pointer("Category", id), "active": true]
        return Request(path: "/classes/Product", query: ["where": condition, "order": "name", "limit": 20])
    }

    /// A case-insensitive search for a word in name and detail, within a price range.
    package static func search(for word: String) -> Request {
        let pattern: JSON = ["$regex": .string("\\Q\(word)\\E"), "$options": "i"]
        let condition: JSON = ["$or": [["name": pattern], ["detail": pattern]], "unitPrice": ["$gte": 4, "$lte": 40]]
        return Request(path: "/classes/Product", query: ["where": condition, "order": "name", "limit": 20])
    }

    /// A product with its brand.
    package static func product(_ id: String) -> Request {
        Request(path: "/classes/Product/\(id)", query: ["include": "brand"])
    }

    /// Creates an anonymous user, as an app does that needs one for the bag.
    package static var anonymousUser: Request {
        .post("/users", ["authData": ["anonymous": ["id": .string(UUID().uuidString.lowercased())]]])
    }

    /// A sign-up by password; the user name is the e-mail address.
    package static func signUp(email: String, password: String) -> Request {
        .post(
            "/users",
            [
                "username": .string(email), "email": .string(email), "password": .string(password),
                "firstName": "Ada",
            ])
    }

    /// Marks a product as a favourite of the user.
    package static func favourite(_ productId: String, of userId: String) -> Request {
        .post(
            "/classes/FavoriteProduct",
            ["customer": .pointer("_User", userId), "product": .pointer("Product", productId)])
    }

    /// Adds one piece of a product to the bag.
    package static func addToBag(_ productId: String) -> Request {
        .post("/functions/addToBag", ["productId": .string(productId)])
    }

    /// Pays the bag with a card of the sandbox.
    /// - Parameters:
    ///   - key: the idempotency key, 1 to 200 bytes.
    ///   - email: the recipient of the confirmation when the account has no address.
    package static func checkout(key: String, email: String? = nil) -> Request {
        var body: [String: JSON] = [
            "tokenId": "tok_visa", "idempotencyKey": .string(key), "shippingAddress": shippingAddress,
        ]
        if let email { body["email"] = .string(email) }
        return .post("/functions/checkout", .object(body))
    }

    /// The first page of placed orders, newest first, with items and products.
    package static var history: Request {
        Request(
            path: "/classes/Order",
            query: [
                "where": ["orderStatus": 1], "order": "-orderNo", "limit": 10, "include": "items,items.product",
            ])
    }

    private static let shippingAddress: JSON = [
        "firstName": "Ada", "lastName": "Long", "phone": "+1 415 555 0100", "address1": "1 Main Street",
        "city": "Springfield", "state": "IL", "zipcode": "62701",
    ]
}
