import Load
import ParseProtocol
import TestSupport
import Testing

/// A shopper's next step, and the steps that it requires.
@Suite struct WalkTests {
    private static let usual: JSON = [
        "shares": ["browse": 30, "search": 10, "product": 40, "favourite": 5, "bag": 8, "checkout": 3, "history": 4],
        "thinkSeconds": ["product": 4], "visitRequests": 12, "customerShare": 0.3, "productExponent": 1,
        "brandExponent": 1,
    ]

    private func mix(_ changes: [String: JSON] = [:]) throws -> Mix {
        try Mix(json: .object((Self.usual.objectValue ?? [:]).merging(changes) { _, change in change }))
    }

    /// The steps of a visit in which everything succeeds.
    private func visit(_ mix: Mix, isCustomer: Bool) -> [Step] {
        var random = SystemRandomNumberGenerator()
        var walk = Walk(mix, isCustomer: isCustomer, using: &random), steps: [Step] = []
        while let step = walk.next(using: &random) {
            steps.append(step)
            walk.ended(step, succeeded: true)
        }
        return steps
    }

    @Test func whatAStepNeedsComesBeforeIt() throws {
        let mix = try self.mix(["shares": ["checkout": 1]])
        #expect(visit(mix, isCustomer: false).prefix(4) == [.brands, .enter, .bag, .checkout])
        #expect(visit(mix, isCustomer: true).prefix(5) == [.brands, .bag, .checkout, .bag, .checkout])
        let readers = try self.mix(["shares": ["history": 1]])
        #expect(visit(readers, isCustomer: false).prefix(3) == [.brands, .enter, .history])
    }

    @Test func onlyCustomersKeepFavourites() throws {
        let mix = try self.mix(["shares": ["favourite": 1]])
        #expect(Set(visit(mix, isCustomer: true)) == [.brands, .favourite])
        #expect(Set(visit(mix, isCustomer: false)) == [.brands, .product])
    }

    @Test func whatFailedIsGivenUp() throws {
        let mix = try self.mix(["shares": ["checkout": 1], "visitRequests": 100])
        var random = SystemRandomNumberGenerator()
        var walk = Walk(mix, isCustomer: true, using: &random)
        #expect(walk.next(using: &random) == .brands)
        #expect(walk.next(using: &random) == .bag)
        walk.ended(.bag, succeeded: false)
        #expect(walk.next(using: &random) == .bag, "nothing is in the bag, so nothing is paid")
    }

    @Test func stepsHaveTheirShares() throws {
        let mix = try self.mix(), count = 100_000
        var random = SystemRandomNumberGenerator(), counts: [Step: Int] = [:]
        for _ in 0..<count { counts[mix.step(using: &random), default: 0] += 1 }
        for (step, share) in mix.shares {
            let expected = share / 100 * Double(count)
            #expect(abs(Double(counts[step] ?? 0) - expected) < 6 * expected.squareRoot(), "\(step)")
        }
    }

    @Test func visitsHaveTheirLengthAndShoppersThink() throws {
        let mix = try self.mix()
        for _ in 0..<200 {
            let length = visit(mix, isCustomer: false).count
            // The last step's prerequisites may be added.
            #expect((6...20).contains(length))
        }
        var random = SystemRandomNumberGenerator()
        #expect((0..<100).allSatisfy { _ in (2...6).contains(mix.thought(after: .product, using: &random)) })
        #expect(mix.thought(after: .bag, using: &random) == 0)
    }

    @Test func aFileThatIsNoMixIsRefused() {
        let wrong: [[String: JSON]] = [
            ["shares": ["browse": 0]], ["shares": ["brands": 1]], ["shares": ["fly": 1]], ["visitRequests": 0],
            ["customerShare": 2], ["productExponent": "much"],
        ]
        for changes in wrong { #expect(throws: LoadError.self, "\(changes)") { try self.mix(changes) } }
    }
}
