import GatewayService
import ParseProtocol

/// The messages of one live query client, one per line: their effects are bounded, and each error has a code.
struct LiveTarget: FuzzTarget {
    let name = "live"
    let testInputs = 3000
    let dictionary = [
        "op", "connect", "subscribe", "update", "unsubscribe", "applicationId", "masterKey", "javascriptKey",
        "clientKey",
        "restAPIKey", "windowsKey", "sessionToken", "installationId", "requestId", "query", "className", "where",
        "keys",
        "fields", "watch", "include", "cursor", "null", "1e99", "-1", "1.5", "\n", "{}", "[]", "zz-zz", "a-",
    ]

    private static let subscriptionsMax = 4
    /// The error codes that a message may cause, for any sender.
    private static let codes: Set<Int> = [1, 2, 102, 155]

    func generate(_ random: inout Seeded) -> [UInt8] {
        var lines = [JSON.object(["op": "connect", "applicationId": "satchel"])]
        for _ in 0..<random.below(12) {
            var message: [String: JSON] = [
                "op": random.pick(["subscribe", "subscribe", "update", "unsubscribe", "connect"]),
                "requestId": .int(Int64(random.below(6))),
            ]
            if message["op"] != "unsubscribe" {
                message["query"] = [
                    "className": "Note", "where": ["k": ValueKind.any(&random, depth: 2)],
                    "keys": random.chance(30) ? ["a", "b"] : .null,
                ]
            }
            if random.chance(10) { message["cursor"] = random.pick(["5-a", "x", ""]) }
            lines.append(.object(message))
        }
        return Array(lines.map(\.serialized).joined(separator: [UInt8(ascii: "\n")]))
    }

    func run(_ input: [UInt8]) async throws -> String {
        var session = LiveSession(subscriptionsMax: Self.subscriptionsMax)
        var open: Set<Int64> = []
        var words: Set<String> = []
        for line in input.split(separator: UInt8(ascii: "\n"), omittingEmptySubsequences: false) {
            let wasOver = session.isOver
            let action = session.received(Array(line), now: 0)
            try require(!wasOver || action == nil, "A session that is over does nothing.")
            switch action {
            case .connect:
                session.connected()
                words.insert("connect")
            case .subscribe(let subscribing):
                try require(session.isConnected, "Nothing is subscribed before the keys are right.")
                open.insert(subscribing.requestId)
                words.insert(subscribing.cursor == nil ? "subscribe" : "resume")
            case .unsubscribe(let id):
                try require(open.remove(id) != nil, "What is not there cannot end.")
                words.insert("unsubscribe")
            case .refuse(let problem):
                try require(Self.codes.contains(problem.code), "\(problem)")
                words.insert("refuse\(problem.code)")
            case .end(let problem):
                try require(problem.code == 155, "\(problem)")
                words.insert("end")
            case nil: break
            }
            try require(open.count <= Self.subscriptionsMax, "\(open.count) subscriptions")
        }
        return words.sorted().joined(separator: " ")
    }
}
