import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// `SATCHEL_RATE_LIMITS`: a client over the limit gets a retry time on every path, and other clients are unaffected.
@Suite struct RateLimitTests {
    /// A client with its own address.
    private struct Visitor {
        let client: ParseClient
        var headers: [(String, String)]

        init(_ suite: Suite, sessionToken: String? = nil, at address: (String, String) = GatewaySuites.somewhere()) {
            client = ParseClient(suite, sessionToken: sessionToken)
            headers = client.credentials + [address]
        }

        func send(_ method: HTTPMethod, _ path: String, _ body: JSON? = [:]) async throws -> ParseClient.Answer {
            try await client.send(method, path, headers: headers, body: body?.serialized)
        }

        /// The number of `count` such requests that are not rate-limited.
        func admitted(_ count: Int, _ path: String) async throws -> Int {
            var admitted = 0
            for _ in 0..<count where try await send(.POST, path).status != 429 { admitted += 1 }
            return admitted
        }
    }

    @Test func theAnswerSaysWhenToComeAgain() async throws {
        let visitor = Visitor(try await GatewaySuites.guarded)
        #expect(try await visitor.admitted(3, "/functions/nearestStores") == 3)
        let refused = try await visitor.send(.POST, "/functions/nearestStores")
        #expect(refused.status == 429)
        #expect(refused.json == ["code": 100, "error": "Too many requests. Try again later."], "\(refused.text)")
        let seconds = refused.headers.first(name: "Retry-After").flatMap(Int.init)
        #expect(seconds.map { (1...201).contains($0) } == true)
    }

    @Test func rateLimitsCannotBeBypassed() async throws {
        let visitor = Visitor(try await GatewaySuites.guarded)
        #expect(try await visitor.admitted(3, "/functions/nearestStores") == 3)
        for path in [
            "/functions/nearestStores/", "//functions//nearestStores", "/functions/%6eearestStores",
            "/functions/nearestStores?a=1",
        ] {
            #expect(try await visitor.send(.POST, path).status == 429, "\(path)")
        }
        // The router is case-sensitive, so this request matches no route and no rule.
        #expect(try await visitor.send(.POST, "/functions/NEARESTSTORES").code == 141)
        #expect(try await visitor.send(.POST, "/Functions/nearestStores").status == 404)
        var hosted = visitor.client
        hosted.url = hosted.url.replacingOccurrences(of: "/parse", with: "/1")
        #expect(try await hosted.send(.POST, "/functions/nearestStores", headers: visitor.headers).status == 429)
        var forged = visitor
        forged.headers =
            visitor.client.credentials + [("X-Forwarded-For", "198.51.100.1, \(visitor.headers.last?.1 ?? "")")]
        #expect(
            try await forged.send(.POST, "/functions/nearestStores").status == 429,
            "What a client claims before the proxy's word.")
    }

    @Test func theMethodIsTheOneThatCounts() async throws {
        let suite = try await GatewaySuites.guarded
        let visitor = Visitor(suite)
        // A POST that means GET counts as a GET, in any spelling. The limit for POSTs remains unused.
        for method in ["GET", "get", "Get", "gEt"] {
            let answer = try await visitor.send(.POST, "/installations", ["_method": .string(method)])
            #expect(answer.status != 429, "\(answer.text)")
            #expect(answer.status != 201, "\(answer.text)")
        }
        func device() -> JSON { ["deviceType": "ios", "deviceToken": .string(Names.random(20))] }
        for index in 0..<4 {
            // Two paths to one class.
            let path = index % 2 == 0 ? "/installations" : "/classes/_Installation"
            #expect(try await visitor.send(.POST, path, device()).status == 201)
        }
        #expect(try await visitor.send(.POST, "/classes/_Installation", device()).status == 429)
        #expect(
            try await visitor.send(.POST, "/installations", ["_method": "post", "deviceType": "ios"]).status == 429)
        #expect(try await visitor.send(.GET, "/installations/nothing", nil).status != 429)
    }

    @Test func everyRequestOfABatchCounts() async throws {
        let visitor = Visitor(try await GatewaySuites.guarded)
        let one: JSON = ["method": "POST", "path": "/parse/functions/nearestStores/", "body": [:]]
        let batch = try await visitor.send(.POST, "/batch", ["requests": .array(Array(repeating: one, count: 6))])
        let codes = (batch.json.arrayValue ?? []).map { $0.at("error", "code")?.intValue ?? 0 }
        try #require(codes.count == 6, "\(batch.text)")
        #expect(codes[..<3].allSatisfy { $0 == 142 }, "\(batch.text)")
        #expect(codes[3...].allSatisfy { $0 == 100 }, "\(batch.text)")
        #expect(try await visitor.send(.POST, "/functions/nearestStores").status == 429)
        // Changes in one batch count one by one too.
        let device: JSON = ["method": "POST", "path": "/1/classes/Busy", "body": [:]]
        let master = ParseClient.master(try await GatewaySuites.guarded)
        let writes = try await master.send(
            .POST, "/batch", headers: master.credentials,
            body: (["requests": .array(Array(repeating: device, count: 4))] as JSON).serialized)
        let items = writes.json.arrayValue ?? []
        #expect(items.count == 4, "\(writes.text)")
        #expect(items.filter { $0["success"] != nil }.count <= 3, "\(writes.text)")
        #expect(items.contains { $0.at("error", "code") == 100 }, "This rule holds for the master key too.")
    }

    @Test func usersAndSessionsHaveLimitsOfTheirOwn() async throws {
        let suite = try await GatewaySuites.guarded
        let address = GatewaySuites.somewhere()
        let (ada, bob) = (try await Customer.signUp(suite), try await Customer.signUp(suite))
        func visitor(_ client: ParseClient) -> Visitor {
            Visitor(suite, sessionToken: client.sessionToken, at: address)
        }
        #expect(try await visitor(ada.client).admitted(5, "/events/Tap") == 3)
        #expect(try await visitor(bob.client).admitted(5, "/events/Tap") == 3)
        let adasPhone = try await ada.signInAgain()
        #expect(try await visitor(adasPhone).admitted(2, "/events/Tap") == 0, "The user is counted, not the session.")
        #expect(try await visitor(ada.client).admitted(5, "/functions/bag") == 3)
        #expect(
            try await visitor(adasPhone).admitted(5, "/functions/bag") == 3, "The session is counted, not the user.")
        // Without a user, the limit applies per address, not to all clients without a user together.
        #expect(try await visitor(ParseClient(suite)).admitted(5, "/events/Tap") == 3)
        #expect(try await Visitor(suite).admitted(5, "/events/Tap") == 3)
        // An invalid token does not identify a user.
        let void = Visitor(suite, sessionToken: "r:0123456789abcdef0123456789abcdef", at: address)
        #expect(try await void.send(.POST, "/events/Tap").code == 209)
    }

    /// The gateway refuses a large body before it arrives.
    @Test func aLargeBodyWithAnInvalidTokenCounts() async throws {
        let token = "r:0123456789abcdef0123456789abcdef"
        let visitor = Visitor(try await GatewaySuites.guarded, sessionToken: token)
        let large: JSON = ["text": .string(String(repeating: "x", count: 20_000))]
        for _ in 0..<3 { #expect(try await visitor.send(.POST, "/functions/nearestStores", large).code == 209) }
        #expect(try await visitor.send(.POST, "/functions/nearestStores", large).status == 429)
    }

    /// A sign-in counts by address, whatever session the client sends.
    @Test func signingInIsCountedByTheAddress() async throws {
        let suite = try await GatewaySuites.guarded
        let address = GatewaySuites.somewhere()
        let body: JSON = ["username": "nobody", "password": "nothing"]
        var admitted = 0
        for _ in 0..<3 {
            let customer = try await Customer.signUp(suite)
            let visitor = Visitor(suite, sessionToken: customer.client.sessionToken, at: address)
            let one: JSON = ["method": "POST", "path": "/parse/login", "body": body]
            let batch = try await visitor.send(.POST, "/batch", ["requests": [one, one]])
            admitted += (batch.json.arrayValue ?? []).filter { $0.at("error", "code") != 100 }.count
        }
        #expect(admitted == 3)
        #expect(try await Visitor(suite, at: address).send(.POST, "/login", body).status == 429)
        #expect(try await Visitor(suite).send(.POST, "/login", body).status == 404)
    }

    @Test func aGlobalLimitIsEverybodysAndTheMasterKeyIsNotCounted() async throws {
        let suite = try await GatewaySuites.guarded
        var admitted = 0
        for _ in 0..<9 { admitted += try await Visitor(suite).admitted(1, "/events/All") }
        #expect(admitted == 6)
        let master = ParseClient.master(suite)
        for _ in 0..<5 { #expect(try await master.call(.POST, "/events/All", [:]).status == 200) }
    }

    @Test func addressesOfOneNetworkOfIPv6AreOneClient() async throws {
        let suite = try await GatewaySuites.guarded
        let network = "2001:db8:\(String(Int.random(in: 1...65535), radix: 16)):1"
        var admitted = 0
        for host in 1...5 {
            admitted += try await Visitor(suite, at: ("X-Forwarded-For", "[\(network)::\(host)]:4711")).admitted(
                1, "/functions/nearestStores")
        }
        #expect(admitted == 3)
        let neighbour = network.dropLast() + "2::1"
        #expect(
            try await Visitor(suite, at: ("X-Forwarded-For", String(neighbour))).admitted(1, "/functions/nearestStores")
                == 1)
    }

    @Test func tokensComeBack() async throws {
        let suite = try await GatewaySuites.guarded
        let visitor = Visitor(suite)
        let className = "/classes/Busy\(Names.random(5))"
        try await eventually("a limit is reached") { try await visitor.send(.GET, className, nil).status == 429 }
        try await eventually("it is lifted") { try await visitor.send(.GET, className, nil).status == 200 }
    }
}
