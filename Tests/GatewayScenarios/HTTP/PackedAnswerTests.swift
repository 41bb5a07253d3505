import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// Answers in gzip: for clients that accept it, where the body is large and has no secrets.
@Suite struct PackedAnswerTests {
    private static func send(
        _ client: ParseClient, _ path: String, _ method: HTTPMethod = .GET, _ body: JSON? = nil,
        accepting encoding: String? = "gzip, deflate", knowing tag: String? = nil
    ) async throws -> ParseClient.Answer {
        let type = body == nil ? [] : [("Content-Type", "application/json")]
        let accepted = encoding.map { [("Accept-Encoding", $0)] } ?? []
        let known = tag.map { [("If-None-Match", $0)] } ?? []
        return try await client.send(
            method, path, headers: client.credentials + type + accepted + known, body: body?.serialized)
    }

    private static func isPacked(_ answer: ParseClient.Answer) -> Bool {
        answer.headers.first(name: "Content-Encoding") == "gzip" && answer.body.starts(with: [0x1f, 0x8b])
    }

    /// Sizes that an event loop compresses, that a task compresses, and that a task sends in parts.
    @Test(.timeLimit(.minutes(5)), arguments: [(8, 20), (60, 200), (60, 3000), (150, 4000)])
    func aLargeAnswerIsPackedForClientsThatAcceptIt(_ products: Int, _ detailBytes: Int) async throws {
        let suite = try await Suite.shared
        let words = ["smooth ", "rose ", "citrus ", "for dry skin ", "day and night ", "vegan ", "refill "]
        let detail = (0..<detailBytes / 7).map { words[$0 * 5 % 7] }.joined()
        let shelf = try await Shelf.fill(suite, names: (0..<products).map { "Packed \($0)" }, detail: detail)
        let client = ParseClient(suite)
        let path = "/classes/Product?\(ParseClient.queryText(["where": ["brand": shelf.pointer], "limit": 200]))"
        let plain = try await Self.send(client, path, accepting: nil)
        #expect(plain.results.count == products)
        #expect(plain.headers.first(name: "Content-Encoding") == nil)
        #expect(plain.headers.first(name: "Vary")?.contains("Accept-Encoding") == true)
        let tag = try #require(plain.headers.first(name: "ETag"))
        // The cache answers the second request, where it keeps the answer.
        for _ in 0..<2 {
            let small = try await Self.send(client, path)
            #expect(Self.isPacked(small), "\(small.headers)")
            #expect(small.body.count <= plain.body.count / 2)
            #expect(small.headers["Content-Length"] == ["\(small.body.count)"])
            #expect(small.headers.first(name: "ETag") == "W/\(tag)")
            #expect(small.headers.first(name: "Vary")?.contains("Accept-Encoding") == true)
            #expect(try Gunzip.unpacked(small.body) == plain.body)
            for known in [tag, "W/\(tag)"] {
                let answer = try await Self.send(client, path, knowing: known)
                #expect(answer.status == 304 && answer.body.isEmpty, "\(known)")
                #expect(answer.headers.first(name: "ETag") == "W/\(tag)")
                #expect(answer.headers.first(name: "Content-Encoding") == nil)
            }
        }
        for refused in ["identity", "br", "gzip;q=0"] {
            let answer = try await Self.send(client, path, accepting: refused)
            #expect(answer.body == plain.body, "\(refused)")
            #expect(answer.headers.first(name: "ETag") == tag)
        }
        let head = try await Self.send(client, path, .HEAD)
        #expect(head.headers.first(name: "Content-Encoding") == nil)
        #expect(head.headers.first(name: "ETag") == tag)
        let tunnelled: JSON = [
            "_method": "GET", "_ApplicationId": "satchel", "where": ["brand": shelf.pointer], "limit": 200,
        ]
        let posted = try await client.send(
            .POST, "/classes/Product", headers: [("Content-Type", "text/plain"), ("Accept-Encoding", "gzip")],
            body: tunnelled.serialized)
        #expect(Self.isPacked(posted))
        #expect(try Gunzip.unpacked(posted.body) == plain.body)
    }

    @Test func smallAnswersAndThoseWithSecretsAreSentPlain() async throws {
        let suite = try await Suite.shared
        let shelf = try await Shelf.fill(suite, names: ["Plain"])
        let customer = try await Customer.signUp(suite)
        let text = JSON.string(String(repeating: "plain ", count: 1000))
        let changed = try await customer.client.call(.PUT, "/users/\(customer.userId)", ["about": text])
        try #require(changed.status == 200, "\(changed.text)")
        let signIn: JSON = ["username": .string(customer.email), "password": .string(customer.password)]
        let batch: JSON = ["requests": [["method": "GET", "path": .string("/parse/users/\(customer.userId)")]]]
        for (method, path, body, bytesMin) in [
            (.GET, "/classes/Product/\(shelf.productIds[0])", nil, 100), (.GET, "/users/me", nil, 5000),
            (.GET, "/users/\(customer.userId)", nil, 5000), (.GET, "/classes/_User/\(customer.userId)", nil, 5000),
            (.POST, "/login", signIn, 5000), (.POST, "/batch", batch, 5000),
        ] as [(HTTPMethod, String, JSON?, Int)] {
            let answer = try await Self.send(customer.client, path, method, body)
            #expect(answer.status == 200 && answer.body.count > bytesMin, "\(path): \(answer.text.prefix(200))")
            #expect(answer.headers.first(name: "Content-Encoding") == nil, "\(path)")
        }
    }

    @Test func functionsThatOnlyReadArePacked() async throws {
        let suite = try await Suite.shared
        let admin = try await Customer.admin(suite)
        let parameters: JSON = [
            "metric": "opens", "from": "2030-01-01T00:00:00.000Z", "to": "2030-04-01T00:00:00.000Z",
        ]
        let plain = try await Self.send(admin, "/functions/analyticsSeries", .POST, parameters, accepting: nil)
        let small = try await Self.send(admin, "/functions/analyticsSeries", .POST, parameters)
        #expect(plain.status == 200, "\(plain.text)")
        #expect(Self.isPacked(small))
        #expect(try Gunzip.unpacked(small.body) == plain.body)
    }
}
