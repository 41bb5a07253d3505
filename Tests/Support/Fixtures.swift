import Foundation
import ParseProtocol
import Synchronization

/// The error that an answer prevents a fixture from continuing.
package struct Unexpected: Error, CustomStringConvertible {
    package let description: String

    package init(_ what: String, _ answer: ParseClient.Answer) {
        description = "\(what) answered \(answer.status): \(answer.text.prefix(500))"
    }
}

/// A brand with its own products, so that scenarios that share a suite do not see each other's products.
package struct Shelf: Sendable {
    package let brandId: String
    package let title: String
    /// objectIds in the order of `names`.
    package let productIds: [String]
    package let names: [String]

    /// - Parameters:
    ///   - names: one product each.
    ///   - prices: in the shop's major unit, repeated as needed.
    package static func fill(
        _ suite: Suite, names: [String], prices: [JSON] = [3.5, 12, 18.25], stock: Int64 = 100,
        detail: String = "A plain detail."
    ) async throws -> Shelf {
        let master = ParseClient.master(suite)
        let title = "Brand \(Names.random(8))"
        let brand = try await master.create("Category", ["title": .string(title)])
        guard brand.status == 201 else { throw Unexpected("POST Category", brand) }
        let pointer = JSON.pointer("Category", brand.objectId)
        var ids: [String] = []
        for start in stride(from: 0, to: names.count, by: 50) {
            let requests = (start..<min(start + 50, names.count)).map { index -> JSON in
                let product: JSON = [
                    "name": .string(names[index]), "detail": .string(detail), "priceUnit": "ea", "brand": pointer,
                    "unitPrice": prices[index % prices.count], "stock": .int(stock), "active": true,
                ]
                return ["method": "POST", "path": "/parse/classes/Product", "body": product]
            }
            let answer = try await master.call(.POST, "/batch", ["requests": .array(requests)])
            let created = answer.json.arrayValue?.compactMap { $0.at("success", "objectId")?.stringValue } ?? []
            guard created.count == requests.count else { throw Unexpected("POST batch of products", answer) }
            ids += created
        }
        return Shelf(brandId: brand.objectId, title: title, productIds: ids, names: names)
    }

    package var pointer: JSON { .pointer("Category", brandId) }
}

/// A signed-in customer.
package struct Customer: Sendable {
    package var client: ParseClient
    package let userId: String
    package let email: String
    package let password: String

    package var pointer: JSON { .pointer("_User", userId) }

    package static let address: JSON = [
        "firstName": "Ada", "lastName": "Long", "phone": "+1 415 555 0100", "address1": "1 Main Street",
        "city": "Springfield", "state": "IL", "zipcode": "62701",
    ]

    /// Signs up a new customer with a unique e-mail address.
    package static func signUp(_ suite: Suite, style: ParseClient.Style = .headers) async throws -> Customer {
        var client = ParseClient(suite, style: style)
        let email = "\(Names.random(10).lowercased())@customers.example"
        let password = Names.random(12)
        let answer = try await whenNotBusy {
            try await client.call(
                .POST, "/users",
                [
                    "username": .string(email), "email": .string(email), "password": .string(password),
                    "firstName": "Ada",
                ])
        }
        guard answer.status == 201, let token = answer["sessionToken"]?.stringValue else {
            throw Unexpected("POST users", answer)
        }
        client.sessionToken = token
        return Customer(client: client, userId: answer.objectId, email: email, password: password)
    }

    /// Creates an anonymous user, as an app does at its first start.
    package static func anonymous(_ suite: Suite) async throws -> (client: ParseClient, userId: String) {
        var client = ParseClient(suite)
        let id = UUID().uuidString.lowercased()
        let answer = try await client.call(.POST, "/users", ["authData": ["anonymous": ["id": .string(id)]]])
        guard answer.status == 201, let token = answer["sessionToken"]?.stringValue else {
            throw Unexpected("POST users (anonymous)", answer)
        }
        client.sessionToken = token
        return (client, answer.objectId)
    }

    /// The first admin, signed in once per suite: a sign-in needs a password hash, and a suite computes few of them at
    /// a time.
    package static func admin(_ suite: Suite) async throws -> ParseClient {
        let signIn = adminSignIns.withLock { signIns in
            if let known = signIns[suite.dataDirectory] { return known }
            let new = Task { try await signInAdmin(suite) }
            signIns[suite.dataDirectory] = new
            return new
        }
        return try await signIn.value
    }

    private static let adminSignIns = Mutex<[String: Task<ParseClient, any Error>]>([:])

    private static func signInAdmin(_ suite: Suite) async throws -> ParseClient {
        var client = ParseClient(suite)
        let credentials: JSON = [
            "username": "admin@satchel.example", "password": .string(try suite.adminPassword()),
        ]
        let answer = try await whenNotBusy { try await client.call(.POST, "/login", credentials) }
        guard let token = answer["sessionToken"]?.stringValue else {
            throw Unexpected("POST login of the admin", answer)
        }
        client.sessionToken = token
        return client
    }

    /// Retries while the suite is busy. A suite hashes few passwords at a time and answers other clients that they must
    /// retry.
    package static func whenNotBusy(
        _ request: () async throws -> ParseClient.Answer
    ) async throws -> ParseClient.Answer {
        let end = ContinuousClock.now + .seconds(120)
        while true {
            let answer = try await request()
            guard [429, 503].contains(answer.status), ContinuousClock.now < end else { return answer }
            try await Task.sleep(for: .milliseconds(200))
        }
    }

    /// Another device of the same customer.
    package func signInAgain() async throws -> ParseClient {
        var other = client
        other.sessionToken = nil
        let signedOut = other
        let answer = try await Self.whenNotBusy {
            try await signedOut.call(.POST, "/login", ["username": .string(email), "password": .string(password)])
        }
        guard let token = answer["sessionToken"]?.stringValue else { throw Unexpected("POST login", answer) }
        other.sessionToken = token
        return other
    }
}
