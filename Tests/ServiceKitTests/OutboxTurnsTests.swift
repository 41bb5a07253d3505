import ServiceKit
import Testing

/// To whom the outbox delivers next. No I/O.
@Suite struct OutboxTurnsTests {
    @Test func whatIsAddedIsDeliveredOnceAtATime() {
        var turns = OutboxTurns()
        turns.added(for: "mail")
        turns.added(for: "mail")
        #expect(turns.begin(due: []) == ["mail"])
        #expect(turns.begin(due: ["mail", "push"]) == ["push"])
        let over = turns.ends(for: "mail")
        #expect(over)
        #expect(turns.begin(due: ["mail"]) == ["mail"])
    }

    /// Nothing is left lying that was added between the last look and the end.
    @Test func whatIsAddedMeanwhileIsLookedForAgain() {
        var turns = OutboxTurns()
        turns.added(for: "mail")
        _ = turns.begin(due: [])
        turns.looks(for: "mail")
        turns.added(for: "mail")
        let again = turns.ends(for: "mail")
        #expect(!again)
        turns.looks(for: "mail")
        let last = turns.ends(for: "mail")
        #expect(last)
        #expect(turns.begin(due: []).isEmpty)
    }

    @Test func afterAFailureItBeginsWithWhatIsDue() {
        var turns = OutboxTurns()
        turns.added(for: "mail")
        _ = turns.begin(due: [])
        turns.added(for: "mail")
        turns.failed(for: "mail")
        #expect(turns.begin(due: []).isEmpty)
        #expect(turns.begin(due: ["mail"]) == ["mail"])
    }
}
