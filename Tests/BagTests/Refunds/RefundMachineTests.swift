import BagService
import ParseProtocol
import Testing

/// The next step of a refund from every stored point and after every failure. No I/O.
@Suite struct RefundMachineTests {
    static let refused = ParseError(.validationError, "More than was charged.")

    @Test func eachStoredPointGoesOn() {
        for (point, action) in [
            (.pending, .refund), (.done, .answer(.done)), (.failed(Self.refused), .answer(.refused(Self.refused))),
        ] as [(RefundMachine.StoredState, RefundMachine.Action)] {
            var machine = RefundMachine(at: point)
            #expect(machine.resume() == action)
        }
    }

    @Test func moneyThatWentBackIsStoredWithTheOrder() {
        var machine = RefundMachine(at: .pending)
        _ = machine.resume()
        #expect(machine.answered(.success("re_1")) == .finish(providerId: "re_1"))
        #expect(machine.stored() == .answer(.done))
    }

    @Test func aRefusalIsStored() {
        var machine = RefundMachine(at: .pending)
        _ = machine.resume()
        #expect(machine.answered(.failure(.refused(Self.refused))) == .fail(Self.refused))
        #expect(machine.stored() == .answer(.refused(Self.refused)))
    }

    @Test func aLostAnswerIsAskedForAgainAndNeverTakenForAFailure() {
        var machine = RefundMachine(at: .pending)
        _ = machine.resume()
        var pauses: [Duration] = []
        for _ in 0..<1000 {
            guard case .wait(let pause) = machine.answered(.failure(.undecided)) else {
                Issue.record("An unexpected action.")
                return
            }
            pauses.append(pause)
            #expect(machine.waited() == .refund)
        }
        #expect(pauses.first == .milliseconds(50))
        #expect(pauses.max() == .seconds(30))
        #expect(machine.answered(.success("re_1")) == .finish(providerId: "re_1"))
    }

    @Test func whatCouldNotBeStoredIsStoredLaterWithoutAskingAgain() {
        var done = RefundMachine(at: .pending)
        _ = done.answered(.success("re_1"))
        #expect(done.notStored() == .wait(.milliseconds(50)))
        #expect(done.waited() == .finish(providerId: "re_1"))
        var failed = RefundMachine(at: .pending)
        _ = failed.answered(.failure(.refused(Self.refused)))
        #expect(failed.notStored() == .wait(.milliseconds(50)))
        #expect(failed.waited() == .fail(Self.refused))
    }

    @Test func aLateAnswerChangesNothing() {
        var machine = RefundMachine(at: .done)
        #expect(machine.answered(.failure(.refused(Self.refused))) == .answer(.done))
    }
}
