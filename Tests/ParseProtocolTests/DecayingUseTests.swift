import ParseProtocol
import Testing

/// Recorded use that decays over time.
@Suite struct DecayingUseTests {
    private let halfLife: UInt64 = 10_000_000_000

    @Test func halfIsForgottenAfterEachHalfLife() {
        var use = DecayingUse<String>()
        #expect(use.amount(of: "ann", at: 5) == 0)
        use.add(8_000, to: "ann", at: 100)
        #expect(use.amount(of: "ann", at: 100) == 8_000)
        #expect(use.amount(of: "ann", at: 100 + halfLife) == 4_000)
        #expect(use.amount(of: "ann", at: 100 + 3 * halfLife) == 1_000)
        #expect(use.amount(of: "bob", at: 100) == 0)
    }

    @Test func whatComesLaterIsAddedToWhatIsLeft() {
        var use = DecayingUse<String>()
        use.add(8_000, to: "ann", at: 0)
        use.add(1_000, to: "ann", at: halfLife)
        #expect(use.amount(of: "ann", at: halfLife) == 5_000)
        #expect(use.amount(of: "ann", at: 2 * halfLife) == 2_500)
    }

    @Test func aMomentBeforeTheLastUseIsThatOfTheUse() {
        var use = DecayingUse<String>()
        use.add(8_000, to: "ann", at: halfLife)
        #expect(use.amount(of: "ann", at: 0) == 8_000)
        use.add(2_000, to: "ann", at: 0)
        #expect(use.amount(of: "ann", at: 0) == 10_000)
    }

    @Test func pastTheBoundTheHeaviestAreRemembered() {
        var use = DecayingUse<Int>(keysMax: 2, negligible: 100)
        use.add(1_000, to: 1, at: 0)
        use.add(1_000, to: 2, at: 0)
        use.add(1_000, to: 3, at: 0)
        #expect(use.keyCount == 2, "There is no room for another.")
        #expect(use.amount(of: 3, at: 0) == 0, "There is no room for another.")
        use.add(1_000, to: 2, at: 0)
        #expect(use.amount(of: 2, at: 0) == 2_000, "Who is known goes on being counted.")
        // After four half-lives the first value is almost zero, the second is not.
        use.add(1_000, to: 3, at: 4 * halfLife)
        #expect(use.keyCount == 2)
        #expect(use.amount(of: 1, at: 4 * halfLife) == 0)
        #expect(use.amount(of: 2, at: 4 * halfLife) == 125)
        #expect(use.amount(of: 3, at: 4 * halfLife) == 1_000)
    }
}
