import ServiceKit
import Testing

/// When the outbox polls for due messages. No I/O.
@Suite struct OutboxScheduleTests {
    private let start = ContinuousClock.now

    @Test func theFirstLookIsAtOnceAndTheNextFromTimeToTime() {
        var looks = OutboxSchedule(now: start)
        #expect(looks.begins(at: start) == true)
        #expect(looks.begins(at: start) == false)
        #expect(looks.pause(at: start) == OutboxSchedule.pauseMax)
        #expect(looks.begins(at: start + OutboxSchedule.pauseMax) == true)
    }

    /// No notification arrives for messages that another process added.
    @Test func whereOthersAddMessagesItLooksOften() {
        var looks = OutboxSchedule(now: start, atLeastEvery: OutboxSchedule.sharedPauseMax)
        #expect(looks.begins(at: start) == true)
        #expect(looks.pause(at: start) == OutboxSchedule.sharedPauseMax)
        looks.again(in: .seconds(5), at: start)
        #expect(looks.pause(at: start) == OutboxSchedule.sharedPauseMax)
        #expect(looks.begins(at: start + OutboxSchedule.sharedPauseMax) == true)
    }

    @Test func aLaterAttemptIsLookedForAtItsTime() {
        var looks = OutboxSchedule(now: start)
        #expect(looks.begins(at: start) == true)
        looks.again(in: .seconds(2), at: start)
        #expect(looks.pause(at: start) == .seconds(2))
        // A later attempt does not postpone an earlier one, and polls keep a minimum interval.
        looks.again(in: .seconds(5), at: start)
        #expect(looks.pause(at: start) == .seconds(2))
        looks.again(in: .zero, at: start)
        #expect(looks.pause(at: start) == OutboxSchedule.pauseMin)
        #expect(looks.begins(at: start + OutboxSchedule.pauseMin / 2) == false)
        #expect(looks.begins(at: start + OutboxSchedule.pauseMin) == true)
    }

    /// Messages postponed while a poll reads are in the next poll, whether the current one saw them or not.
    @Test func aMessagePostponedDuringAPollIsKept() {
        var looks = OutboxSchedule(now: start)
        #expect(looks.begins(at: start) == true)
        looks.again(in: .seconds(1), at: start)
        looks.again(in: .seconds(8), at: start)
        #expect(looks.pause(at: start) == .seconds(1))
    }
}
