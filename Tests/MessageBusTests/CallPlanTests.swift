import MessageBus
import Testing

/// Which gateway a service uses for its calls, and what happens to them when that gateway leaves.
@Suite struct CallPlanTests {
    /// Gateways that have been connected for long, at time 10,000.
    private func plan(_ gateways: Int...) -> CallPlan {
        var plan = CallPlan()
        for gateway in gateways { _ = plan.arrived(gateway, now: 0) }
        return plan
    }

    private let now: BusClock.Milliseconds = 10_000

    private func begin(_ plan: inout CallPlan, isRepeatable: Bool = true) -> (CallPlan.CallID, [CallPlan.Action]) {
        let (id, actions) = plan.begin(isRepeatable: isRepeatable, deadline: now + 5000, now: now)
        return (id, actions)
    }

    @Test func gatewaysThatAreThereTakeTurns() {
        var plan = plan(1, 2)
        var taken: [CallPlan.GatewayID: Int] = [:]
        for _ in 0..<10 {
            let (_, actions) = begin(&plan)
            for case .send(_, let gateway) in actions { taken[gateway, default: 0] += 1 }
        }
        #expect(taken == [1: 5, 2: 5])
    }

    @Test func whatIsRepeatableGoesToAnotherGatewayAtOnceWhenItsOwnGoesAway() {
        var plan = plan(1)
        let (id, sent) = begin(&plan)
        #expect(sent == [.send(id, 1)])
        _ = plan.arrived(2, now: now)
        plan.left(1)
        #expect(plan.lost(id, now: now + 1) == [.send(id, 2)])
    }

    @Test func aChangeWithoutAKeyHasAnUnknownOutcome() {
        var plan = plan(1, 2)
        let (id, _) = begin(&plan, isRepeatable: false)
        plan.left(1)
        #expect(plan.lost(id, now: now + 1) == [.end(id, .outcomeUnknown)])
        #expect(plan.lost(id, now: now + 2) == [])
    }

    @Test func callsWaitForAGatewayAndKeepTheirOrder() {
        var plan = plan()
        let (first, none) = begin(&plan)
        let (second, alsoNone) = begin(&plan, isRepeatable: false)
        #expect(none == [])
        #expect(alsoNone == [])
        #expect(plan.arrived(7, now: now + 10) == [.send(first, 7), .send(second, 7)])
    }

    @Test func whatIsRepeatableWaitsForItsOnlyGatewayToComeBack() {
        var plan = plan(1)
        let (id, _) = begin(&plan)
        plan.left(1)
        #expect(plan.lost(id, now: now + 1) == [])
        #expect(plan.arrived(1, now: now + 900) == [.send(id, 1)])
    }

    @Test func whatWaitsEndsAtItsDeadlineAndSaysWhetherItMayBeDone() {
        var plan = plan(1)
        let (sent, _) = begin(&plan)
        plan.left(1)
        _ = plan.lost(sent, now: now + 1)
        let (held, _) = begin(&plan)
        #expect(plan.tick(now: now + 4999) == [])
        #expect(plan.tick(now: now + 5000) == [.end(sent, .timedOut), .end(held, .neverSent)])
    }

    @Test func aLaneThatHadLostItsGatewayGivesTheCallBackUnsent() {
        var plan = plan(1)
        let (id, _) = begin(&plan, isRepeatable: false)
        plan.left(1)
        #expect(plan.returned(id, now: now) == [])
        #expect(plan.arrived(2, now: now + 1) == [.send(id, 2)])
        // From here on, the call may have been executed.
        plan.left(2)
        #expect(plan.lost(id, now: now + 2) == [.end(id, .outcomeUnknown)])
    }

    @Test func aCallThatEndsGatewaysIsGivenUp() {
        var plan = plan(1, 2, 3, 4)
        let (id, actions) = begin(&plan)
        var (sent, last) = (0, actions)
        while case .send(_, let gateway)? = last.first {
            sent += 1
            plan.left(gateway)
            last = plan.lost(id, now: now)
        }
        #expect(sent == CallPlan.lossesMax)
        #expect(last == [.end(id, .outcomeUnknown)])
    }

    @Test func aGatewayThatJustCameIsTakenWhenNoOtherIsThere() {
        var plan = plan(1)
        _ = plan.arrived(2, now: now)
        for _ in 0..<4 {
            let (id, actions) = begin(&plan)
            #expect(actions == [.send(id, 1)])
        }
        plan.left(1)
        let (id, actions) = begin(&plan)
        #expect(actions == [.send(id, 2)])
    }

    @Test func aProcessThatStopsSendsNothingMore() {
        var plan = plan(1)
        let (sent, _) = begin(&plan)
        plan.left(1)
        let (held, _) = begin(&plan)
        #expect(plan.stop() == [.end(held, .stopping)])
        #expect(plan.lost(sent, now: now) == [.end(sent, .outcomeUnknown)])
        let (late, actions) = begin(&plan)
        #expect(actions == [.end(late, .stopping)])
    }

    @Test func anAnsweredCallIsForgotten() {
        var plan = plan(1, 2)
        let (id, _) = begin(&plan)
        plan.ended(id)
        #expect(plan.lost(id, now: now) == [])
        #expect(plan.returned(id, now: now) == [])
    }
}
