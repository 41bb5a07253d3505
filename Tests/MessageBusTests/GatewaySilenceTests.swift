import MessageBus
import Testing

/// When a lane takes its connected gateway for stopped or hung.
@Suite struct GatewaySilenceTests {
    private func silence(promised milliseconds: BusClock.Milliseconds) -> GatewaySilence {
        var silence = GatewaySilence(now: 0)
        silence.reset()
        _ = silence.heard()
        silence.promised(within: milliseconds)
        return silence
    }

    /// Ticks twice a second, from time 0. The first time at which a silence began.
    private func begin(
        _ silence: inout GatewaySilence, until end: BusClock.Milliseconds,
        heard: (BusClock.Milliseconds) -> Bool = { _ in false }
    ) -> BusClock.Milliseconds? {
        for now in stride(from: BusClock.Milliseconds(500), through: end, by: 500) {
            if heard(now) { _ = silence.heard() }
            if silence.tick(now: now) { return now }
        }
        return nil
    }

    @Test func fourMissedProbesAreASilenceThatBeginsOnce() {
        var silence = silence(promised: 1000)
        let began = begin(&silence, until: 60_000)
        #expect(began == 4500)
        #expect(silence.isSilent)
        let beginsAgain = silence.tick(now: 10_000)
        #expect(!beginsAgain)
    }

    @Test func anyMessageEndsItOnce() {
        var silence = silence(promised: 1000)
        _ = begin(&silence, until: 60_000)
        let ends = [silence.heard(), silence.heard()]
        #expect(ends == [true, false])
        #expect(!silence.isSilent)
        let beginsAgain = silence.tick(now: 5000)
        #expect(!beginsAgain)
    }

    @Test func aGatewayThatIsHeardInTimeIsNotSilent() {
        var silence = silence(promised: 1000)
        let began = begin(&silence, until: 60_000) { $0.isMultiple(of: 4000) }
        #expect(began == nil)
    }

    /// An earlier release sends probes only when peers connect or disconnect.
    @Test func aGatewayThatPromisesNothingIsNotSilent() {
        var silence = silence(promised: 0)
        let began = begin(&silence, until: 600_000)
        #expect(began == nil)
    }

    /// The next connection may be to an earlier release.
    @Test func aPromiseEndsWithItsConnection() {
        var silence = silence(promised: 1000)
        _ = begin(&silence, until: 5000)
        silence.reset()
        #expect(!silence.isSilent)
        let began = begin(&silence, until: 60_000)
        #expect(began == nil)
    }

    /// What the gateway sent while this process was stopped is received after its first tick.
    @Test func aPauseOfThisProcessIsNoSilence() {
        var silence = silence(promised: 1000)
        let begins = [silence.tick(now: 500), silence.tick(now: 3_600_500)]
        let wasSilent = silence.heard()
        #expect(begins == [false, false])
        #expect(!wasSilent)
    }
}
