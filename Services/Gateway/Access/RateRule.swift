import ProcessKit

/// A rate limit: `login=10/60s per ip`, `POST users=5/3600s per ip`, `functions/*=100/60s per user with master`.
package struct RateRule: Sendable {
    /// The clients whose requests are counted together.
    package enum Zone: String, Sendable {
        /// The client's address; for IPv6 its network of 64 bits, which a provider gives to one subscriber.
        case ip
        /// The signed-in user, or the address of a client without one.
        case user
        /// The session, or the address of a client without one.
        case session
        /// All clients together.
        case global
    }

    /// Nil for every method.
    package let method: String?
    package let pattern: RoutePattern
    /// Requests per `window`; after a pause all of them may come at once.
    package let count: Int
    package let window: Duration
    package let zone: Zone
    /// True when requests with the master key count as well.
    package let includesMaster: Bool

    private static let countMax = 100_000
    /// One day. The counts are in memory, and longer windows would have to survive a restart.
    private static let secondsMax = 86_400
    /// Bounds the work per request: each request is compared with every rule.
    private static let rulesMax = 32

    /// - Throws: `StartupProblem` with a text that quotes the invalid rule.
    package init(_ text: String) throws {
        let problem = StartupProblem(
            "\"\(text)\" is not a rate limit, such as login=10/60s per ip.")
        let sides = text.split(separator: "=", omittingEmptySubsequences: false)
        guard sides.count == 2 else { throw problem }
        let route = sides[0].split(separator: " ")
        let words = sides[1].split(separator: " ")
        guard (1...2).contains(route.count), words.count == 3 || words.count == 5, words[1] == "per",
            let zone = Zone(rawValue: String(words[2])), words.count == 3 || words[3...] == ["with", "master"]
        else { throw problem }
        method = route.count == 2 ? String(route[0]) : nil
        guard method.map({ ["GET", "POST", "PUT", "DELETE"].contains($0) }) ?? true else { throw problem }
        pattern = try RoutePattern(String(route[route.count - 1]))
        let rate = words[0].split(separator: "/", omittingEmptySubsequences: false)
        guard rate.count == 2, rate[1].last == "s", let count = Int(rate[0]), let seconds = Int(rate[1].dropLast()),
            (1...Self.countMax).contains(count), (1...Self.secondsMax).contains(seconds)
        else { throw problem }
        self.count = count
        window = .seconds(seconds)
        self.zone = zone
        includesMaster = words.count == 5
    }

    /// A semicolon-separated list of rules.
    package static func list(_ text: String) throws -> [RateRule] {
        let rules = try text.split(separator: ";").filter { !$0.allSatisfy { $0 == " " } }.map {
            try RateRule(String($0))
        }
        guard rules.count <= rulesMax else {
            throw StartupProblem("SATCHEL_RATE_LIMITS has more than \(rulesMax) rules.")
        }
        return rules
    }
}
