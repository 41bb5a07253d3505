import ServiceKit
import Testing

/// When the outbox looks for what is due. No I/O.
@Suite struct OutboxLooksTests {
    private let start = ContinuousClock.now

    @Test func theFirstLookIsAtOnceAndTheNextFromTimeToTime() {
        var looks = OutboxLooks(now: start)
        #expect(looks.begins(at: start) == true)
        #expect(looks.begins(at: start) == false)
        #expect(looks.pause(at: start) == OutboxLooks.pauseMax)
        #expect(looks.begins(at: start + OutboxLooks.pauseMax) == true)
    }

    /// Nobody tells of what another process added.
    @Test func whereOthersAddMessagesItLooksOften() {
        var looks = OutboxLooks(now: start, atLeastEvery: OutboxLooks.sharedPauseMax)
        #expect(looks.begins(at: start) == true)
        #expect(looks.pause(at: start) == OutboxLooks.sharedPauseMax)
        looks.again(in: .seconds(5), at: start)
        #expect(looks.pause(at: start) == OutboxLooks.sharedPauseMax)
        #expect(looks.begins(at: start + OutboxLooks.sharedPauseMax) == true)
    }

    @Test func aLaterAttemptIsLookedForAtItsTime() {
        var looks = OutboxLooks(now: start)
        #expect(looks.begins(at: start) == true)
        looks.again(in: .seconds(2), at: start)
        #expect(looks.pause(at: start) == .seconds(2))
        // One that is later than another does not put it off, and none is looked for in a hurry.
        looks.again(in: .seconds(5), at: start)
        #expect(looks.pause(at: start) == .seconds(2))
        looks.again(in: .zero, at: start)
        #expect(looks.pause(at: start) == OutboxLooks.pauseMin)
        #expect(looks.begins(at: start + OutboxLooks.pauseMin / 2) == false)
        #expect(looks.begins(at: start + OutboxLooks.pauseMin) == true)
    }

    /// What is put off while a look reads is in the next one, whether that look saw it or not.
    @Test func whatIsPutOffDuringALookIsNotForgotten() {
        var looks = OutboxLooks(now: start)
        #expect(looks.begins(at: start) == true)
        looks.again(in: .seconds(1), at: start)
        looks.again(in: .seconds(8), at: start)
        #expect(looks.pause(at: start) == .seconds(1))
    }
}
