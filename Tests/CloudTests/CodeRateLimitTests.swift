import CloudService
import Messages
import ParseProtocol
import Testing

/// The rate limits of validators: which calls count, and in which groups. No I/O.
@Suite struct CodeRateLimitTests {
    private static let minute: Int64 = 60_000_000_000

    /// A wrapper that allows mutating calls within `#expect`.
    private final class Subject {
        private var limits = CodeRateLimits()

        func replace(by rules: [CodeRateLimits.Rule]) { limits.replace(by: rules) }

        func refusal(of call: CodeRateLimits.Call, at now: Int64) -> ParseError? { limits.refusal(of: call, at: now) }
    }

    /// One call per minute, with further members.
    private static func limits(_ more: [String: JSON] = [:]) throws -> Subject {
        let rule: JSON = .object(
            ["name": "f", "count": 1, "window": 60_000, "message": "Slow down."].merging(more) { $1 })
        let subject = Subject()
        subject.replace(by: [try #require(CodeRateLimits.Rule(rule))])
        return subject
    }

    private static func call(
        _ name: String = "f", _ className: String = "", depth: UInt32 = 0, text: String = "{}",
        _ principal: (inout Principal) -> Void = { _ in }
    ) -> CodeRateLimits.Call {
        let message = RunCode.with {
            $0.name = name
            $0.className = className
            $0.depth = depth
        }
        var caller = Principal.with { $0.network = "192.0.2.1" }
        principal(&caller)
        return .init(message, caller, text: Array(text.utf8))
    }

    @Test func aCallPastTheLimitIsRefusedUntilTheWindowIsOver() throws {
        let limits = try Self.limits()
        #expect(limits.refusal(of: Self.call(), at: 0) == nil)
        let refusal = try #require(limits.refusal(of: Self.call(), at: 1))
        #expect(refusal.code == .connectionFailed)
        #expect(refusal.message == "Slow down.")
        #expect(refusal.retryAfterSeconds == 60)
        #expect(limits.refusal(of: Self.call("g"), at: 1) == nil, "Another function has no limit.")
        #expect(limits.refusal(of: Self.call { $0.network = "192.0.2.2" }, at: 1) == nil)
        #expect(limits.refusal(of: Self.call { $0.master = true }, at: 1) == nil)
        #expect(limits.refusal(of: Self.call(depth: 1), at: 1) == nil, "The code itself is not counted.")
        #expect(limits.refusal(of: Self.call(), at: Self.minute + 1) == nil)
    }

    @Test func theMasterKeyAndTheCodeItselfCountWhereTheRuleSaysSo() throws {
        let limits = try Self.limits(["includesMaster": true, "includesInternal": true])
        #expect(limits.refusal(of: Self.call { $0.master = true }, at: 0) == nil)
        #expect(limits.refusal(of: Self.call { $0.master = true }, at: 0) != nil)
        #expect(limits.refusal(of: Self.call(depth: 1), at: 0) != nil)
    }

    @Test(arguments: [("ip", false, true), ("user", true, false), ("session", true, false), ("global", false, false)])
    func aZoneDefinesWhichCallersShareALimit(_ zone: String, _ usersApart: Bool, _ networkCounts: Bool) throws {
        let limits = try Self.limits(["zone": .string(zone)])
        func refuses(_ user: String, _ network: String) -> Bool {
            let call = Self.call {
                ($0.userID, $0.sessionToken, $0.network) = (user, user.isEmpty ? "" : "r:\(user)", network)
            }
            return limits.refusal(of: call, at: 0) != nil
        }
        #expect(!refuses("ann", "192.0.2.1"))
        #expect(refuses("ann", "192.0.2.1"))
        #expect(refuses("ben", "192.0.2.1") == !usersApart)
        #expect(refuses("ann", "192.0.2.2") == !networkCounts)
        // Without a user and a session, the network counts.
        #expect(refuses("", "192.0.2.3") == (zone == "global"))
        #expect(refuses("", "192.0.2.3"))
    }

    @Test func aMethodOfATriggerIsThatOfTheRequest() throws {
        let limits = try Self.limits(["name": "beforeSave", "className": "Item", "methods": ["PUT"]])
        for _ in 1...2 { #expect(limits.refusal(of: Self.call("beforeSave", "Item"), at: 0) == nil) }
        let update = Self.call("beforeSave", "Item", text: #"{"object":{},"original":{}}"#)
        #expect(limits.refusal(of: update, at: 0) == nil)
        #expect(limits.refusal(of: update, at: 0) != nil)
    }

    @Test func theSameRulesKeepTheirCountsAndOthersBeginAnew() throws {
        let rule = try #require(CodeRateLimits.Rule(["name": "f", "count": 1, "window": 60_000]))
        let limits = Subject()
        limits.replace(by: [rule])
        #expect(limits.refusal(of: Self.call(), at: 0) == nil)
        limits.replace(by: [rule])
        #expect(limits.refusal(of: Self.call(), at: 0) != nil)
        limits.replace(by: [])
        #expect(limits.refusal(of: Self.call(), at: 0) == nil)
        #expect(CodeRateLimits.Rule(["name": "f", "count": 0, "window": 60_000]) == nil)
    }
}
