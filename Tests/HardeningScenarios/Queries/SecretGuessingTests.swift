import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Guessing secrets from answers and from their timing. `scripts/attack secrets` does the same with 10,000 requests and
/// a statistical test.
@Suite(.serialized) struct SecretGuessingTests {
    /// A pattern that backtracks up to its limit on strings that begin with the guess, and rejects all others
    /// immediately.
    private static func pattern(_ guess: String, _ number: Int) -> JSON {
        ["$regex": .string("^(?=\(guess))\(guess.prefix(2))([0-9a-f]{1,9})+(?#\(number))[^0-9a-f]")]
    }

    /// T1b
    @Test func noQueryNamesASessionToken() async throws {
        let suite = try await Suite.shared
        let victim = try await Customer.signUp(suite)
        let token = try #require(victim.client.sessionToken)
        for client in try await ParseClient.attackers(suite) {
            for guess in [token, String(token.prefix(3)), "r:x"] {
                let guesses: JSON = ["$or": .array((0..<40).map { ["sessionToken": Self.pattern(guess, $0)] })]
                let sub: JSON = ["brand": ["$inQuery": ["className": "_Session", "where": guesses]]]
                let answers = [
                    try await client.find("Product", sub, ["limit": 1]), try await client.find("_Session", guesses),
                    try await client.find("_Session", ["sessionToken": .string(guess)]),
                    try await client.find("_Session", [:], ["order": "sessionToken"]),
                    try await client.find(
                        "Product",
                        ["brand": ["$select": ["query": ["className": "_Session", "where": guesses], "key": "user"]]]),
                ]
                for answer in answers where answer.code != 209 {
                    #expect(answer.status == 400, "\(answer.text)")
                    #expect(answer.code == 119, "\(answer.text)")
                }
            }
        }
        // A user finds the own sessions by fields that are not secret.
        let own = try await victim.client.find("_Session", ["user": victim.pointer])
        #expect(own.results.count == 1, "\(own.text)")
    }

    /// T1a: sends `SATCHEL_GUESSES` requests, a few by default. On a private telephone number, a hit takes as long as a
    /// miss.
    @Test(.timeLimit(.minutes(10)), .enabled(if: Suite.keepsFiles, "PostgreSQL refuses patterns of this kind."))
    func aTelephoneNumberIsNotGuessedByTime() async throws {
        let suite = try await Suite.shared
        let victim = try await Customer.signUp(suite)
        let phone = "7301\(Int.random(in: 100_000_000...999_999_999))731"
        let saved = try await victim.client.call(.PUT, "/users/\(victim.userId)", ["phone": .string(phone)])
        try #require(saved.status == 200, "\(saved.text)")
        let rounds = (ProcessInfo.processInfo.environment["SATCHEL_GUESSES"].flatMap(Int.init) ?? 120) / 2
        let client = ParseClient(suite)
        var times: [[Double]] = [[], []]
        for round in 0..<rounds {
            for side in round % 2 == 0 ? [0, 1] : [1, 0] {
                let guess = side == 0 ? String(phone.prefix(5 + round % 6)) : "99" + String(phone.prefix(3))
                let condition: JSON = ["$or": .array((0..<40).map { ["phone": Self.pattern(guess, $0)] })]
                let start = ContinuousClock.now
                let answer = try await client.find("_User", condition, ["limit": 1])
                times[side].append((ContinuousClock.now - start) / .milliseconds(1))
                #expect(answer.json == ["results": []], "\(answer.text)")
            }
        }
        let medians = times.map { $0.sorted()[$0.count / 2] }
        // The spread of the misses only: a leak would increase the spread of the hits.
        let misses = times[1].sorted()
        let spread = misses[misses.count * 3 / 4] - misses[misses.count / 4]
        print(
            """
            \(2 * rounds) guesses: a hit \(medians[0]) ms, a miss \(medians[1]) ms, half of the misses within \
            \(spread) ms
            """
        )
        // If the patterns ran on the row, it would take at least 100 ms.
        #expect(abs(medians[0] - medians[1]) <= max(2 * spread, 3), "\(medians), \(spread)")
    }

    /// T2s
    @Test func namesAndPatternsHaveAnEnd() async throws {
        let suite = try await Suite.shared
        let many = (0..<100_000).map { "f\($0)" }
        for client in try await ParseClient.attackers(suite).dropFirst() {
            for option in ["keys", "excludeKeys", "order", "include"] {
                for value in [.string(many.joined(separator: ",")), .array(many.map(JSON.string))] as [JSON] {
                    let start = ContinuousClock.now
                    let answer = try await client.call(
                        .POST, "/classes/Product", ["_method": "GET", "limit": 1, .init(option): value])
                    #expect(answer.status == 400, "\(option): \(answer.text.prefix(200))")
                    #expect(answer.code == 102, "\(option): \(answer.text.prefix(200))")
                    #expect(ContinuousClock.now - start < .seconds(12))
                }
            }
            let patterns: JSON = ["$or": .array((0..<490).map { ["name": ["$regex": .string("^a+b\($0)")]] })]
            #expect(try await client.find("Product", patterns).code == 102)
        }
    }
}
