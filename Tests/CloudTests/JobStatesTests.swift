import CloudService
import Messages
import Testing

/// The state of the jobs that `cloud` has to run. No I/O.
@Suite struct JobStatesTests {
    private static func state(_ phase: CodeJobState.Phase, _ message: String = "") -> CodeJobState {
        .with {
            $0.phase = phase
            $0.message = message
        }
    }

    @Test func aJobIsBegunOnce() {
        var book = JobStates()
        #expect(book.state(of: "a").phase == .unknown)
        let isBegun = book.begin("a")
        #expect(isBegun)
        let isBegunAgain = book.begin("a")
        #expect(!isBegunAgain)
        #expect(book.state(of: "a") == Self.state(.running))
    }

    @Test func itsMessagesAndItsEndAreKept() {
        var book = JobStates()
        _ = book.begin("a")
        book.tell("a", "half")
        #expect(book.state(of: "a") == Self.state(.running, "half"))
        book.end("a", .result(Array("null".utf8)))
        #expect(book.state(of: "a") == Self.state(.succeeded, "half"), "It said nothing else.")
        book.tell("a", "late")
        book.end("a", .ended("late"))
        #expect(book.state(of: "a") == Self.state(.succeeded, "half"), "It had ended.")
        let isBegunAgain = book.begin("a")
        #expect(!isBegunAgain)
    }

    @Test(
        arguments: [
            (RunOutcome.result(Array(#""all""#.utf8)), CodeJobState.Phase.succeeded, "all"),
            (.result(Array(#"{"n":1}"#.utf8)), .succeeded, #"{"n":1}"#),
            (.failed(CodeFailure(message: "broken")), .failed, "broken"), (.ended("died"), .failed, "died"),
            (.notRun("away"), .failed, "away"),
        ])
    func anOutcomeIsAnEnd(_ outcome: RunOutcome, _ phase: CodeJobState.Phase, _ message: String) {
        var book = JobStates()
        _ = book.begin("a")
        book.end("a", outcome)
        #expect(book.state(of: "a") == Self.state(phase, message))
    }

    @Test func aBookThatIsClosedTakesNoFurtherJob() {
        var book = JobStates()
        _ = book.begin("a")
        book.close()
        #expect(!book.refuses("a"), "It is under way.")
        #expect(book.refuses("b"))
        let isBegun = book.begin("b")
        #expect(!isBegun)
    }

    /// One character may be as long as a whole text.
    @Test func aMessageIsBoundedInBytes() {
        var book = JobStates()
        _ = book.begin("a")
        let long = "a" + String(repeating: "\u{301}", count: 3 * JobStates.messageMax)
        book.tell("a", long)
        #expect(book.state(of: "a").message.utf8.count <= 4 * JobStates.messageMax)
        book.end("a", .ended(long))
        #expect(book.state(of: "a").message.utf8.count <= 4 * JobStates.messageMax)
    }

    @Test func theOldestEndsAreForgottenAndWhatRunsIsNot() {
        var book = JobStates()
        _ = book.begin("runs")
        for number in 0...JobStates.endedMax {
            _ = book.begin("\(number)")
            book.end("\(number)", .notRun(""))
        }
        #expect(book.state(of: "0").phase == .unknown)
        #expect(book.state(of: "1").phase == .failed)
        #expect(book.state(of: "runs").phase == .running)
    }
}
