import CloudService
import ParseProtocol
import Testing

/// Decisions about calls and processes of cloud code. No I/O.
@Suite struct PoolMachineTests {
    private typealias Action = PoolMachine.Action

    private struct Subject {
        var machine: PoolMachine
        var now: PoolMachine.Milliseconds = 0

        init(processes: Int = 2) { machine = PoolMachine(processes: processes) }

        /// A machine whose processes are all ready.
        static func ready(processes: Int = 2) -> Subject {
            var subject = Subject(processes: processes)
            _ = subject.does { $0.begin(now: $1, &$2) }
            for id in 1...processes { _ = subject.does { $0.loaded(id, problem: nil, now: $1, &$2) } }
            return subject
        }

        mutating func does(
            _ event: (inout PoolMachine, PoolMachine.Milliseconds, inout [Action]) -> Void
        ) -> [Action] {
            var actions: [Action] = []
            event(&machine, now, &actions)
            return actions
        }

        mutating func call(
            _ id: PoolMachine.RunID, for limit: PoolMachine.Milliseconds = 1000, isNested: Bool = false,
            from network: String? = nil
        ) -> [Action] {
            let network = network.map { ClientNetwork($0) }
            return does {
                $0.call(id, deadline: $1 + limit, isNested: isNested, from: network, now: $1, &$2)
            }
        }

        mutating func tick(after time: PoolMachine.Milliseconds) -> [Action] {
            now += time
            return does { $0.tick(now: $1, &$2) }
        }

        mutating func ponged(_ id: PoolMachine.ProcessID) { machine.ponged(id, now: now) }

        mutating func cancel(_ id: PoolMachine.RunID) -> [Action] {
            does { $0.cancel(id, .ended("stopped"), now: $1, &$2) }
        }

        mutating func ended(_ id: PoolMachine.ProcessID) -> [Action] { does { $0.ended(id, now: $1, &$2) } }

        mutating func answered(_ id: PoolMachine.RunID, by process: PoolMachine.ProcessID) -> [Action] {
            does { $0.answered(id, by: process, .result([]), now: $1, &$2) }
        }
    }

    private static let died = RunOutcome.ended("The process of the cloud code ended while it worked on this.")
    private static let tooLong = RunOutcome.ended("The cloud code took longer than it may and was ended.")

    @Test func callsWaitForTheFirstProcessThatHasLoaded() {
        var subject = Subject()
        #expect(subject.does { $0.begin(now: $1, &$2) } == [.start(1), .start(2)])
        #expect(subject.call(7) == [])
        #expect(subject.does { $0.loaded(2, problem: nil, now: $1, &$2) } == [.send(7, to: 2)])
    }

    @Test func oneNetworkHasHalfOfThePlacesAndAWideOneThreeQuarters() {
        var subject = Subject.ready()
        let begun = (1...100).filter { !subject.call($0, from: "cb007107").isEmpty }
        #expect(begun.count == PoolMachine.runsMax)
        let others = (101...200).filter { !subject.call($0, from: "cb007108").isEmpty }
        #expect(others.count == PoolMachine.runsMax / 2)
        #expect(subject.call(300, from: "c6336407").count == 1, "Another network has a place at once.")
        #expect(subject.call(301).count == 1)
        #expect(subject.answered(1, by: 1) == [.finish(1, .result([])), .send(133, to: 1)], "It has the fewest.")
    }

    @Test func theNetworkWithTheFewestCallsUnderWayIsNext() {
        var subject = Subject(processes: 1)
        _ = subject.does { $0.begin(now: $1, &$2) }
        for id in 1...100 { _ = subject.call(UInt64(id), from: "cb007107") }
        for id in 101...103 { _ = subject.call(UInt64(id), from: "c6336407") }
        let sent = subject.does { $0.loaded(1, problem: nil, now: $1, &$2) }
        let first: [PoolMachine.RunID] = [1, 101, 2, 102, 3, 103]
        #expect(Array(sent.prefix(first.count)) == first.map { Action.send($0, to: 1) })
        #expect(sent.count == PoolMachine.runsMax / 2 + 3)
    }

    @Test func oneNetworkCannotFillTheLine() {
        var subject = Subject(processes: 1)
        for id in 1...UInt64(PoolMachine.waitingPerNetworkMax) { #expect(subject.call(id, from: "cb007107").isEmpty) }
        guard case .finish(1000, .notRun)? = subject.call(1000, from: "cb007107").first else {
            Issue.record("It waits.")
            return
        }
        #expect(subject.call(1001, from: "c6336407").isEmpty)
        #expect(subject.cancel(1).count == 1)
        #expect(subject.call(1002, from: "cb007107").isEmpty, "There is a place again.")
    }

    @Test func itIsReadyWhileAProcessTakesCalls() {
        var subject = Subject()
        _ = subject.does { $0.begin(now: $1, &$2) }
        #expect(!subject.machine.isReady)
        _ = subject.does { $0.loaded(1, problem: nil, now: $1, &$2) }
        #expect(subject.machine.isReady, "One is enough.")
        _ = subject.call(1, for: 500)
        _ = subject.tick(after: 500)
        #expect(!subject.machine.isReady, "Nobody knows whether it goes on.")
        subject.ponged(1)
        #expect(subject.machine.isReady)
        _ = subject.ended(1)
        #expect(!subject.machine.isReady)
    }

    @Test func theProcessWithTheLeastToDoGetsTheNextCall() {
        var subject = Subject.ready()
        #expect(subject.call(1) == [.send(1, to: 1)])
        #expect(subject.call(2) == [.send(2, to: 2)])
        #expect(subject.answered(2, by: 2) == [.finish(2, .result([]))])
        #expect(subject.call(3) == [.send(3, to: 2)])
    }

    @Test func aProcessThatDoesNotAnswerGetsNothingWhileAnotherTakesIt() {
        var subject = Subject.ready()
        #expect(subject.call(1) == [.send(1, to: 1)])
        #expect(subject.tick(after: PoolMachine.pingAfter) == [.ping(1)])
        subject.now += PoolMachine.silenceMax
        #expect(subject.call(2) == [.send(2, to: 2)])
        #expect(subject.call(3) == [.send(3, to: 2)])
        subject.ponged(1)
        #expect(subject.call(4) == [.send(4, to: 1)])
    }

    @Test func aProcessThatWaitsAnswersAndIsNotSilent() {
        var subject = Subject.ready()
        _ = subject.call(1, for: 60_000)
        for _ in 0..<20 {
            #expect(subject.tick(after: PoolMachine.pingAfter) == [.ping(1)])
            #expect(subject.tick(after: 10) == [], "It is asked once.")
            subject.ponged(1)
        }
        _ = subject.call(2)
        #expect(subject.call(3) == [.send(3, to: 1)], "It has as much to do as the other one.")
        #expect(subject.tick(after: PoolMachine.pingAfter) == [.ping(1), .ping(2)])
    }

    @Test func aProcessWithoutWorkIsNotAsked() {
        var subject = Subject.ready()
        _ = subject.call(1)
        _ = subject.answered(1, by: 1)
        #expect(subject.tick(after: 60_000) == [])
        #expect(!subject.machine.isWatching)
    }

    @Test func aProcessThatDiesTakesItsOwnCallsAlone() {
        var subject = Subject.ready()
        _ = subject.call(1)
        _ = subject.call(2)
        #expect(subject.ended(1) == [.finish(1, Self.died)])
        #expect(subject.answered(2, by: 2) == [.finish(2, .result([]))])
        #expect(subject.tick(after: PoolMachine.backOff.lowerBound) == [.start(3)])
    }

    @Test func aProcessThatLivedLongIsReplacedAtOnce() {
        var subject = Subject.ready()
        subject.now += PoolMachine.stableAfter
        #expect(subject.ended(1) == [.start(3)])
    }

    @Test func thePauseBeforeAStartGrowsWithEachProcessThatEndsSoon() {
        var subject = Subject.ready(processes: 1)
        var pauses: [PoolMachine.Milliseconds] = []
        for id in 1...10 {
            _ = subject.ended(id)
            var waited: PoolMachine.Milliseconds = 0
            while subject.tick(after: 50) != [.start(id + 1)] { waited += 50 }
            pauses.append(waited + 50)
        }
        #expect(pauses == [100, 200, 400, 800, 1600, 3200, 6400, 10_000, 10_000, 10_000])
    }

    @Test func aSlowCallOfAProcessThatAnswersIsEndedAlone() {
        var subject = Subject.ready(processes: 1)
        _ = subject.call(1, for: 500)
        _ = subject.call(2, for: 60_000)
        #expect(subject.tick(after: 500) == [.cancel(1, in: 1), .finish(1, Self.tooLong), .ping(1)])
        #expect(subject.call(3) == [], "It waits for the answer.")
        subject.ponged(1)
        #expect(subject.tick(after: 10) == [.send(3, to: 1)])
        #expect(subject.answered(2, by: 1) == [.finish(2, .result([]))])
        #expect(subject.answered(3, by: 1) == [.finish(3, .result([]))])
        #expect(subject.tick(after: PoolMachine.graceMax) == [])
        #expect(!subject.machine.isWatching)
    }

    @Test func aProcessThatStoodStillUntilTheLimitIsEndedAtOnce() {
        var subject = Subject.ready()
        _ = subject.call(1, for: 2000)
        #expect(subject.tick(after: PoolMachine.pingAfter) == [.ping(1)])
        let actions = subject.tick(after: 2000)
        #expect(actions == [.cancel(1, in: 1), .finish(1, Self.tooLong), .kill(1)])
        #expect(subject.call(2) == [.send(2, to: 2)])
        #expect(subject.ended(1) == [])
        #expect(subject.tick(after: PoolMachine.backOff.lowerBound).contains(.start(3)))
    }

    /// Code in an endless loop may still write to its log or answer calls.
    @Test func aProcessThatTalksButAnswersNoPingStandsStill() {
        var subject = Subject.ready(processes: 1)
        _ = subject.call(1, for: 2000)
        _ = subject.call(2, for: 60_000)
        #expect(subject.tick(after: PoolMachine.pingAfter) == [.ping(1)])
        subject.now += 1500
        #expect(subject.answered(2, by: 1) == [.finish(2, .result([]))])
        #expect(subject.tick(after: 500) == [.cancel(1, in: 1), .finish(1, Self.tooLong), .kill(1)])
    }

    @Test func aProcessThatStandsStillTakesItsOtherCallsWithIt() {
        var subject = Subject.ready(processes: 1)
        _ = subject.call(1, for: 500)
        _ = subject.call(2, for: 60_000)
        #expect(subject.tick(after: 500) == [.cancel(1, in: 1), .finish(1, Self.tooLong), .ping(1)])
        #expect(subject.tick(after: PoolMachine.graceMax - 1) == [])
        #expect(subject.tick(after: 1) == [.kill(1)])
        #expect(subject.ended(1) == [.finish(2, Self.died)])
    }

    @Test func aProcessThatStandsStillGoesOnWhileNoCallIsPastItsLimit() {
        var subject = Subject.ready(processes: 1)
        _ = subject.call(1, for: 60_000)
        #expect(subject.tick(after: PoolMachine.pingAfter) == [.ping(1)])
        #expect(subject.tick(after: 30_000) == [])
        #expect(subject.answered(1, by: 1) == [.finish(1, .result([]))])
    }

    @Test func aProcessInWhichManyCallsWereTooLongIsReplaced() {
        var subject = Subject.ready(processes: 1)
        _ = subject.call(1000, for: 600_000)
        for id in 1..<PoolMachine.RunID(PoolMachine.lateMax) {
            _ = subject.call(id, for: 100)
            let actions = subject.tick(after: 100)
            #expect(actions.contains(.finish(id, Self.tooLong)))
            #expect(!actions.contains(.start(2)))
            subject.ponged(1)
        }
        subject.now += PoolMachine.stableAfter
        let last = PoolMachine.RunID(PoolMachine.lateMax)
        _ = subject.call(last, for: 100)
        #expect(subject.tick(after: 100).contains(.start(2)))
        subject.ponged(1)
        #expect(subject.answered(1000, by: 1) == [.finish(1000, .result([])), .kill(1)])
    }

    @Test func aCallThatIsStoppedEndsAlone() {
        var subject = Subject.ready(processes: 1)
        _ = subject.call(1)
        #expect(subject.cancel(1) == [.cancel(1, in: 1), .finish(1, .ended("stopped")), .ping(1)])
        #expect(subject.cancel(1) == [])
        subject.ponged(1)
        #expect(subject.call(2) == [.send(2, to: 1)])
    }

    @Test func aLateOutcomeIsIgnored() {
        var subject = Subject.ready()
        _ = subject.call(1, for: 500)
        _ = subject.call(2, for: 60_000)
        _ = subject.tick(after: 500)
        #expect(subject.answered(1, by: 1) == [])
        #expect(subject.answered(2, by: 1) == [], "Of another process.")
    }

    @Test func codeThatCannotBeLoadedIsSaidAndTriedAgain() {
        var subject = Subject(processes: 1)
        _ = subject.does { $0.begin(now: $1, &$2) }
        #expect(subject.call(1) == [])
        let text = "The cloud code cannot be loaded; the log says why."
        let actions = subject.does { $0.loaded(1, problem: "SyntaxError", now: $1, &$2) }
        #expect(actions == [.problem(text), .finish(1, .ended(text)), .kill(1)])
        #expect(subject.ended(1) == [])
        #expect(subject.call(2) == [.finish(2, .ended(text))])
        #expect(subject.tick(after: PoolMachine.backOff.lowerBound) == [.start(2)])
        #expect(subject.does { $0.loaded(2, problem: nil, now: $1, &$2) } == [.problem("")])
        #expect(subject.call(3) == [.send(3, to: 2)])
    }

    @Test func whatEndsBeforeItHasLoadedIsAProblem() {
        var subject = Subject(processes: 1)
        _ = subject.does { $0.begin(now: $1, &$2) }
        let text = "The cloud code process ends before it has loaded the code; the log says why."
        #expect(subject.ended(1) == [.problem(text)])
    }

    @Test func whatTakesTooLongToLoadIsKilled() {
        var subject = Subject(processes: 1)
        _ = subject.does { $0.begin(now: $1, &$2) }
        #expect(subject.tick(after: PoolMachine.loadMax).contains(.kill(1)))
    }

    @Test func codeThatTakesTooLongToLoadIsTriedAgainAfterAPause() {
        var subject = Subject(processes: 1)
        _ = subject.does { $0.begin(now: $1, &$2) }
        _ = subject.tick(after: PoolMachine.loadMax)
        #expect(subject.ended(1) == [])
        #expect(subject.tick(after: PoolMachine.backOff.lowerBound - 1) == [])
        #expect(subject.tick(after: 1) == [.start(2)])
    }

    @Test func aCallThatNobodyTookInTimeWasNotBegun() {
        var subject = Subject(processes: 1)
        _ = subject.does { $0.begin(now: $1, &$2) }
        _ = subject.call(1, for: 500)
        let late = RunOutcome.notRun("The cloud code could not be started in time; try again.")
        #expect(subject.tick(after: 500) == [.finish(1, late)])
    }

    /// On a busy machine, a trigger may wait for the next version of the code. This wait must not fail the trigger, nor
    /// the earlier version's call that it belongs to.
    @Test func theTimeOfACallBeginsWithItsProcess() {
        var subject = Subject(processes: 1)
        _ = subject.does { $0.begin(now: $1, &$2) }
        for id: PoolMachine.RunID in 1...2 {
            #expect(subject.does { $0.call(id, deadline: 15_000, limit: 5000, isNested: true, now: $1, &$2) } == [])
        }
        #expect(subject.tick(after: 9000) == [])
        let sent = subject.does { $0.loaded(1, problem: nil, now: $1, &$2) }
        #expect(sent == [.send(2, to: 1), .send(1, to: 1)])
        #expect(subject.machine.deadline(of: 1) == 14_000)
        subject.ponged(1)
        #expect(!subject.tick(after: 4999).contains(.finish(1, Self.tooLong)))
        #expect(subject.answered(2, by: 1) == [.finish(2, .result([]))])
        subject.ponged(1)
        #expect(subject.tick(after: 1).contains(.finish(1, Self.tooLong)))
        #expect(subject.machine.deadline(of: 1) == nil)
    }

    @Test func theTimeOfACallEndsWithThatOfWhoeverWaits() {
        var subject = Subject.ready(processes: 1)
        subject.now = 1000
        _ = subject.does { $0.call(1, deadline: 3000, limit: 5000, isNested: true, now: $1, &$2) }
        #expect(subject.machine.deadline(of: 1) == 3000)
    }

    /// Otherwise a process full of calls that wait for nested calls would wait forever.
    @Test func nestedCallsPassTheBoundOfAProcess() {
        var subject = Subject.ready(processes: 1)
        for id in 1...PoolMachine.RunID(PoolMachine.runsMax) { #expect(subject.call(id) == [.send(id, to: 1)]) }
        #expect(subject.call(1000) == [])
        #expect(subject.call(1001, isNested: true) == [.send(1001, to: 1)])
        #expect(subject.answered(1, by: 1) == [.finish(1, .result([]))], "The nested one took its place.")
        #expect(subject.answered(2, by: 1) == [.finish(2, .result([])), .send(1000, to: 1)])
    }

    @Test func moreThanCanWaitIsRefused() {
        var subject = Subject(processes: 1)
        _ = subject.does { $0.begin(now: $1, &$2) }
        for id in 1...PoolMachine.RunID(PoolMachine.waitingMax) { #expect(subject.call(id) == []) }
        let full = RunOutcome.notRun("The cloud code has too much to do; try again.")
        #expect(subject.call(5000) == [.finish(5000, full)])
    }

    @Test func theEndEndsEverything() {
        var subject = Subject.ready()
        _ = subject.call(1)
        let stopping = RunOutcome.notRun("The cloud service is stopping.")
        #expect(subject.does { $0.stop(&$2) } == [.finish(1, Self.died), .kill(1), .kill(2)], "It was begun.")
        #expect(subject.ended(1) == [])
        #expect(subject.call(2) == [.finish(2, stopping)])
    }

    @Test func whatWaitsAtTheEndWasNotBegun() {
        var subject = Subject(processes: 1)
        _ = subject.does { $0.begin(now: $1, &$2) }
        _ = subject.call(1)
        let stopping = RunOutcome.notRun("The cloud service is stopping.")
        #expect(subject.does { $0.stop(&$2) } == [.finish(1, stopping), .kill(1)])
    }
}
