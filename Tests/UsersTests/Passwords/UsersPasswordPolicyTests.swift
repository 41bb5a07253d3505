import ObjectStore
import ParseProtocol
import Testing
import UsersService

/// The decisions of the operator's password rules.
@Suite struct UsersPasswordPolicyTests {
    private static func policy() throws -> PasswordPolicy {
        var policy = PasswordPolicy()
        policy.charactersMin = 10
        policy.pattern = try TextPattern(#"(?=.*\d)(?=.*[a-z])"#)
        policy.days = 30
        return policy
    }

    @Test(arguments: [
        ("short1", false), ("long enough", false), ("1234567890", false), ("long enough 1", true),
        ("ünïcödé a1", true), (String(repeating: "a1", count: 513), false),
    ])
    func aPasswordMustBeLongEnoughAndMatch(_ password: String, _ isGood: Bool) throws {
        let policy = try Self.policy()
        #expect(UsersAccountTests.code { try policy.check(password) } == (isGood ? nil : 142))
    }

    @Test func withoutRulesOnlyTheBoundsHold() {
        #expect(UsersAccountTests.code { try PasswordPolicy().check("123456") } == nil)
        #expect(UsersAccountTests.code { try PasswordPolicy().check("12345") } == 142)
        #expect(!PasswordPolicy().isExpired(chosenAt: Timestamp(milliseconds: 0), now: .now))
    }

    @Test func aPasswordExpiresOnItsDay() throws {
        let policy = try Self.policy()
        let chosen = Timestamp(milliseconds: 1_700_000_000_000)
        #expect(!policy.isExpired(chosenAt: chosen, now: chosen.advanced(by: .seconds(30 * 86_400 - 1))))
        #expect(policy.isExpired(chosenAt: chosen, now: chosen.advanced(by: .seconds(30 * 86_400))))
    }

    /// An operator's pattern that backtracks endlessly stops at a limit and counts as no match.
    @Test func aPatternThatTakesForEverIsNoMatch() throws {
        let pattern = try TextPattern("^(a+)+$")
        #expect(pattern.matches("aaaa"))
        #expect(!pattern.matches(String(repeating: "a", count: 60) + "!"))
        #expect(UsersAccountTests.code { _ = try TextPattern("(") } == 102)
    }

    /// A user whose password is older than the record of password changes is not locked out by the setting.
    @Test func theAgeOfAPasswordCountsFromTheFirstTimeItIsKnown() async throws {
        try await withUsersStore { store in
            let chosen = Timestamp(milliseconds: 1_700_000_000_000)
            try await store.write { transaction in
                #expect(try PasswordHistory.chosenAt("u1", in: transaction) == transaction.now)
                try transaction.execute(
                    "INSERT INTO passwordHistory(userId, chosenAt, hash) VALUES ('u1', ?, 'x')",
                    [.int(chosen.milliseconds)])
                #expect(try PasswordHistory.chosenAt("u1", in: transaction) == chosen)
                try PasswordHistory.add("y", of: "u1", keeping: 0, in: transaction)
                #expect(try PasswordHistory.chosenAt("u1", in: transaction) == transaction.now)
            }
            let rows = try await store.read {
                try $0.rows("SELECT hash FROM passwordHistory").map { try $0.text("hash") }
            }
            #expect(rows == ["y"])
        }
    }
}
