import GatewayService
import ParseProtocol
import ProcessKit
import Testing

/// The decisions of rate limits and route lists, without a clock or a network.
@Suite struct GatewayRateTests {
    private static let second: Int64 = 1_000_000_000

    @Test func aBucketGivesItsTokensAtOnceAndThenOneByOne() {
        var buckets = RateBuckets(count: 3, window: .seconds(60))
        for _ in 0..<3 {
            #expect(buckets.wait(for: 1, at: 0) == 0)
            buckets.take(from: 1, at: 0)
        }
        #expect(buckets.wait(for: 1, at: 0) == 20 * Self.second)
        #expect(buckets.wait(for: 1, at: 19 * Self.second) == Self.second)
        #expect(buckets.wait(for: 1, at: 20 * Self.second) == 0)
        buckets.take(from: 1, at: 20 * Self.second)
        #expect(buckets.wait(for: 1, at: 20 * Self.second) == 20 * Self.second)
        #expect(buckets.wait(for: 1, at: 1000 * Self.second) == 0)
        #expect(buckets.wait(for: 2, at: 0) == 0, "Another key has a bucket of its own.")
    }

    @Test func asMuchAsTheCountAndNoMoreFitsAnyRule() {
        for (count, seconds) in [(1, 1), (7, 60), (100, 1), (99_991, 1), (100_000, 86_400)] {
            var buckets = RateBuckets(count: count, window: .seconds(seconds))
            var taken = 0
            while buckets.wait(for: 1, at: 5) == 0, taken <= count {
                buckets.take(from: 1, at: 5)
                taken += 1
            }
            #expect(taken == count)
        }
    }

    @Test func aPauseDoesNotSaveUpMoreThanABucketful() {
        var buckets = RateBuckets(count: 2, window: .seconds(2))
        buckets.take(from: 1, at: 0)
        let later = 3600 * Self.second
        for _ in 0..<2 {
            #expect(buckets.wait(for: 1, at: later) == 0)
            buckets.take(from: 1, at: later)
        }
        #expect(buckets.wait(for: 1, at: later) > 0)
    }

    @Test func aFloodOfKeysIsBoundedAndSparesThoseWhoUsedMost() {
        var buckets = RateBuckets(count: 10, window: .seconds(600))
        for _ in 0..<10 { buckets.take(from: -1, at: 0) }
        for key in 0..<(RateBuckets.keysMax * 3) { buckets.take(from: key, at: Int64(key) * 1000) }
        #expect(buckets.keyCount <= RateBuckets.keysMax)
        #expect(buckets.wait(for: -1, at: Self.second) > 0, "The key that was used up still is.")
    }

    @Test func rulesAreReadAsTheyAreWritten() throws {
        let rules = try RateRule.list(
            "login=10/60s per ip; POST users = 5/3600s per ip;functions/*=100/60s per user with master ;")
        #expect(rules.map(\.count) == [10, 5, 100])
        #expect(rules.map(\.window) == [.seconds(60), .seconds(3600), .seconds(60)])
        #expect(rules.map(\.method) == [nil, "POST", nil])
        #expect(rules.map(\.zone) == [.ip, .ip, .user])
        #expect(rules.map(\.includesMaster) == [false, false, true])
        #expect(rules[2].pattern.matches("functions/checkout"))
        #expect(!rules[2].pattern.matches("functions"))
    }

    @Test(arguments: [
        "login", "login=", "=1/1s per ip", "login=1/1 per ip", "login=1/1s", "login=1/1s per", "login=1/1s per you",
        "login=0/1s per ip", "login=1/0s per ip", "login=-1/1s per ip", "login=1.5/1s per ip",
        "login=1/1s per ip always",
        "login=99999999999999999999/1s per ip", "login=1/999999s per ip", "PATCH login=1/1s per ip",
        "a b c=1/1s per ip",
        "login=1/1s per ip with", "log[in=1/1s per ip", "login=1/1s=2/2s per ip", "/=1/1s per ip",
    ])
    func aRuleThatMeansNothingIsRefused(text: String) {
        #expect(throws: StartupProblem.self) { try RateRule(text) }
    }

    @Test(arguments: [
        ("functions/*", "functions/a", true), ("functions/*", "functions/", true), ("functions/*", "function/a", false),
        ("functions/.*", "functions/a", true), ("*", "anything/at/all", true), ("*", "", true),
        ("users", "users", true),
        ("users", "users/me", false), ("users", "Users", false), ("users*", "users/me", true),
        ("classes/_User", "users", true), ("classes/_User/*", "users/abc", true), ("/users/", "users", true),
        ("classes/*/x*y", "classes/A/xzzy", true), ("classes/*/x*y", "classes/A/xzz", false),
        ("a*a", "a", false), ("a*a", "aa", true), ("*a*b*c*", "aXbXc", true), ("*a*b*c*", "aXcXb", false),
    ])
    func patternsMatchWholePaths(pattern: String, route: String, isMatch: Bool) throws {
        #expect(try RoutePattern(pattern).matches(route) == isMatch)
    }

    @Test func synonymsAreOneRoute() {
        #expect(RoutePattern.route(["classes", "_User", "abc"]) == "users/abc")
        #expect(RoutePattern.route(["classes", "_Installation"]) == "installations")
        #expect(RoutePattern.route(["classes", "_Users"]) == "classes/_Users")
        #expect(RoutePattern.route(["classes"]) == "classes")
        #expect(RoutePattern.route([]) == "")
    }

    /// Hostile paths are matched against hostile patterns in bounded time; a backtracking matcher would not end.
    @Test(.timeLimit(.minutes(10))) func matchingDoesNotBacktrack() throws {
        let pattern = try RoutePattern(String(repeating: "a*", count: 40) + "b")
        #expect(!pattern.matches(String(repeating: "a", count: 50_000)))
    }

    /// Id T4d of docs/internals/hardening.md.
    @Test func refusalsThatCostNothingAreHeldBackPastANetworksShare() {
        var pace = RefusalDelay()
        for _ in 0..<10 { #expect(pace.pause(for: "office", at: 0) == nil) }
        for _ in 0..<3 { #expect(pace.pause(for: "office", at: Self.second / 2) == .seconds(1)) }
        #expect(pace.isOver("office", at: Self.second / 2))
        #expect(!pace.isOver("elsewhere", at: Self.second / 2))
        #expect(pace.pause(for: "elsewhere", at: Self.second / 2) == nil)
        #expect(pace.pause(for: "office", at: Self.second) == nil, "One a second.")
        #expect(pace.pause(for: "office", at: Self.second) == .seconds(1))
        for _ in 0..<10 { #expect(pace.pause(for: "office", at: 60 * Self.second) == nil) }
    }
}
