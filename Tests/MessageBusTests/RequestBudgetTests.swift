import MessageBus
import Messages
import Testing

/// A request's budget across all services.
@Suite struct RequestBudgetTests {
    @Test func usedBudgetIsSubtracted() {
        let budget = RequestBudget(microseconds: 100)
        budget.use(30)
        #expect(budget.left == 70)
        #expect(budget.used == 30)
        #expect(!budget.isSpent)
        budget.use(1_000)
        #expect(budget.left == 0)
        #expect(budget.isSpent)
        budget.use(-5)
        #expect(budget.left == 0)
    }

    @Test func everyReplyUsesBudget() {
        let budget = RequestBudget(microseconds: 100)
        budget.use(.failure(BusFailure(Failure(), used: 30)))
        #expect(budget.left == 70)
        budget.use(.success(BusReply(body: [])))
        #expect(budget.left == 70, "This reply reports no usage.")
    }

    @Test func workAtTheSameTimeSharesWhatIsLeft() {
        let budget = RequestBudget(microseconds: 100)
        let shares = (0..<4).map { _ in budget.share(among: 4) }
        #expect(shares.map(\.left) == [25, 25, 25, 25])
        shares[0].use(25)
        shares[1].use(10)
        #expect(budget.left == 65)
    }

    @Test func aBudgetThatOnlyCountsNeverEnds() {
        let budget = RequestBudget(microseconds: nil)
        for _ in 0..<1000 { budget.use(.max) }
        #expect(!budget.isSpent)
        #expect(budget.used > 0)
        let lifted = RequestBudget(microseconds: 0)
        #expect(lifted.isSpent)
        lifted.lift()
        #expect(!lifted.isSpent)
    }

    /// A password hash may take longer than the remaining budget.
    @Test func aPieceOfWorkThatWasBegunEndsItsRequestWell() {
        let budget = RequestBudget(microseconds: 100_000)
        #expect(budget.admitsPiece)
        budget.usePiece(200_000)
        #expect(budget.used == 75_000)
        #expect(budget.left == 25_000, "What its request needs to come to its end.")
        #expect(!budget.admitsPiece, "There is no second one.")
        budget.usePiece(200_000)
        #expect(budget.left == 25_000)
        budget.use(25_000)
        #expect(budget.isSpent)
        let operators = RequestBudget(microseconds: nil)
        for _ in 0..<100 { operators.usePiece(200_000) }
        #expect(operators.admitsPiece)
        #expect(operators.used == 20_000_000)
    }
}
