import ServiceKit
import Testing

/// The order in which the outbox serves receivers. No I/O.
@Suite struct OutboxDeliveriesTests {
    @Test func whatIsAddedIsDeliveredOnceAtATime() {
        var turns = OutboxDeliveries()
        turns.added(for: "mail")
        turns.added(for: "mail")
        #expect(turns.begin(due: []) == ["mail"])
        #expect(turns.begin(due: ["mail", "push"]) == ["push"])
        let over = turns.ends(for: "mail")
        #expect(over)
        #expect(turns.begin(due: ["mail"]) == ["mail"])
    }

    /// A message added between the last poll and the end is not left behind.
    @Test func whatIsAddedMeanwhileIsLookedForAgain() {
        var turns = OutboxDeliveries()
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
        var turns = OutboxDeliveries()
        turns.added(for: "mail")
        _ = turns.begin(due: [])
        turns.added(for: "mail")
        turns.failed(for: "mail")
        #expect(turns.begin(due: []).isEmpty)
        #expect(turns.begin(due: ["mail"]) == ["mail"])
    }
}
