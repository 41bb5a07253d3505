import MessageBus
import Testing

/// When a lane takes its connected gateway for stopped or hung.
@Suite struct GatewaySilenceTests {
    private func silence(promised milliseconds: BusClock.Milliseconds) -> GatewaySilence {
        var silence = GatewaySilence(now: 0)
        silence.connected()
        _ = silence.heard()
        silence.promised(every: milliseconds)
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

    @Test func fiveMissedProbesAreASilenceThatBeginsOnce() {
        var silence = silence(promised: 1000)
        let began = begin(&silence, until: 60_000)
        // The message came before the first tick, at 500.
        #expect(began == 6000)
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
        let began = begin(&silence, until: 60_000) { $0.isMultiple(of: 5000) }
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
        _ = begin(&silence, until: 10_000)
        silence.disconnected()
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

    /// After the connection ended, a lane still reads what came over it.
    @Test func aLaneWithoutAConnectionHearsNoSilence() {
        var silence = silence(promised: 1000)
        silence.disconnected()
        _ = silence.heard()
        silence.promised(every: 1000)
        let began = begin(&silence, until: 60_000)
        #expect(began == nil)
    }

    @Test(arguments: [BusClock.Milliseconds.min, -1, 0, 1, .max])
    func aPromiseOfAnyNumberEndsNothing(_ milliseconds: BusClock.Milliseconds) {
        var silence = silence(promised: milliseconds)
        let expected: [BusClock.Milliseconds: BusClock.Milliseconds] = [1: 1500, .max: 301_000]
        let began = begin(&silence, until: 600_000)
        #expect(began == expected[milliseconds])
    }
}
