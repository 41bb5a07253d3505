import Foundation
import ParseProtocol
import TestSupport
import Testing

/// A user of the Parse Server whose database a move brought (`FixtureMove`), and what belongs to this user there.
struct MovedUser: Sendable {
    let number: Int
    let id: String
    /// The letters that follow the number in the password.
    var passwordEnd = ""
    /// The roles that list the user. `editors` has the members of `staff` too.
    let roles: [String]
    /// The number of books whose permissions let the user read them.
    let books: Int
    /// Those among them that have the user in their relation `readers`.
    let readBooks: Set<String>
    let orderNo: Int64?

    var name: String { "user\(number)@example.com" }
    var password: String { "Secret-41-\(number)\(passwordEnd)" }
}

/// An app's session of a moved user, from the sign-in with the old password to the next one, with each request in an
/// SDK's form.
struct MovedSession<SDK: ReplayedSDK> {
    private var sdk: SDK
    private let user: MovedUser

    private static var productId: String { "2fHTLesAF2" }
    /// The highest number of the moved orders.
    private static var lastOrderNo: Int64 { 1_000_005 }

    static func run(_ sdk: SDK, _ user: MovedUser, in suite: Suite) async throws {
        var session = MovedSession(sdk: sdk, user: user)
        try await session.signIn()
        try await session.look(in: suite)
        try await session.followRelations()
        try await session.buy()
        try await session.leave()
    }

    private func expect(
        _ answer: Wire.Answer, at location: SourceLocation = #_sourceLocation
    ) throws -> Wire.Answer {
        try #require(answer.status == 200, "\(user.name): \(answer.head) \(answer.text)", sourceLocation: location)
        return answer
    }

    private mutating func signIn() async throws {
        let wrong = try await sdk.logIn(user.name, "Secret-41-")
        #expect(wrong.status == 404, "\(wrong.text)")
        #expect(wrong.code == 101, "\(wrong.text)")
        let login = try expect(try await sdk.logIn(user.name, user.password))
        #expect(login.json.objectId == user.id, "\(login.text)")
        sdk.become(login)
        #expect(try expect(try await sdk.me()).json["username"] == .string(user.name))
        let roles = try expect(
            try await sdk.find("_Role", SDKQuery(conditions: [("users", sdk.userPointer)], order: "name")))
        #expect(roles.results.map { $0.text("name") } == user.roles, "\(roles.text)")
    }

    /// The user sees the books that their ACLs show, and `cost` of them as a member of `staff` alone.
    private func look(in suite: Suite) async throws {
        let books = try expect(
            try await sdk.find("Book", SDKQuery(order: "title", limit: 100, include: "author")))
        #expect(books.results.count == user.books, "\(user.name)")
        #expect(try expect(try await sdk.count("Book", SDKQuery())).json["count"] == .int(Int64(user.books)))
        #expect(books.results.contains { $0["cost"] != nil } == user.roles.contains("staff"), "\(user.name)")
        #expect(books.results.allSatisfy { $0.at("author", "name") != nil }, "\(books.text)")
        let covers = books.results.compactMap { $0.at("cover", "url")?.stringValue }.filter { $0.hasSuffix(".png") }
        let path = URLComponents(string: covers.first ?? "")?.path ?? ""
        let cover = try expect(try await Wire(suite: suite, headers: []).send("GET \(path)"))
        #expect(!cover.text.isEmpty, "\(cover.head)")
        let favorites = try expect(
            try await sdk.find(
                "FavoriteProduct", SDKQuery(conditions: [("customer", sdk.userPointer)], include: "product")))
        #expect(favorites.results.count == 1, "\(favorites.text)")
        #expect(favorites.results.first?.at("product", "unitPrice") != nil, "\(favorites.text)")
    }

    private func followRelations() async throws {
        let read = try expect(try await sdk.find("Book", SDKQuery(conditions: [("readers", sdk.userPointer)])))
        #expect(Set(read.results.map(\.objectId)) == user.readBooks, "\(user.name)")
        guard let book = user.readBooks.first else { return }
        let related = #"{"object":\#(SDK.pointer("Book", book)),"key":"readers"}"#
        let readers = try expect(try await sdk.find("_User", SDKQuery(conditions: [("$relatedTo", related)])))
        #expect(readers.results.map(\.objectId) == [user.id], "Other readers are private: \(readers.text)")
    }

    private func buy() async throws {
        _ = try expect(try await sdk.function("addToBag", #"{"productId":"\#(Self.productId)"}"#))
        #expect(try expect(try await sdk.function("bag", "{}")).json.at("result", "badgeCount") == 1)
        let order = #"""
            {"tokenId":"tok_visa","idempotencyKey":"\#(Names.random(20))",\#
            "shippingAddress":\#(ShoppingSession<SDK>.address)}
            """#
        let receipt = try expect(try await sdk.function("checkout", order))
        #expect(receipt.json.at("result", "totalMinorUnits") == 350, "\(receipt.text)")
        let orderNo = receipt.json.at("result", "orderNo")?.intValue ?? 0
        #expect(orderNo > Self.lastOrderNo, "\(receipt.text)")
        let history = try expect(
            try await sdk.find(
                "Order",
                SDKQuery(
                    conditions: [("customer", sdk.userPointer), ("orderStatus", "1")], order: "-orderNo",
                    include: "items.product")))
        let numbers = history.results.compactMap { $0["orderNo"]?.intValue }
        #expect(numbers == [orderNo, user.orderNo].compactMap(\.self), "\(history.text)")
        for order in history.results {
            #expect(order.at("items", 0, "product", "name")?.stringValue != nil, "\(history.text)")
        }
    }

    private mutating func leave() async throws {
        _ = try expect(try await sdk.logOut())
        #expect(try await sdk.me().json["code"] == 209)
        sdk.session = ""
        // Satchel's own hash has replaced the old one.
        #expect(try expect(try await sdk.logIn(user.name, user.password)).json.objectId == user.id)
    }
}
