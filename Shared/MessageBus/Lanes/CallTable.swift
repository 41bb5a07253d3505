import Messages
import Synchronization

/// The pending calls of a service. Performs the decisions of `CallPlan`.
final class CallTable: Sendable {
    private struct Entry {
        let message: BusMessage
        let completion: Broker.Completion
    }

    private struct State {
        var plan = CallPlan()
        var calls: [CallPlan.CallID: Entry] = [:]
        var links: [CallPlan.GatewayID: GatewayLink] = [:]
    }

    private enum Deed {
        case send(CallPlan.CallID, BusMessage, GatewayLink)
        case end(Broker.Completion, BusFailure)
    }

    private let state = Mutex(State())

    /// Sends a request through an available gateway, or through the next one to become available.
    func call(_ message: BusMessage, completion: @escaping Broker.Completion) {
        let envelope = message.envelope
        perform { state in
            let (id, actions) = state.plan.begin(
                isRepeatable: envelope.isRepeatable, deadline: envelope.deadline, now: BusClock.now)
            state.calls[id] = Entry(message: message, completion: completion)
            return actions
        }
    }

    /// A gateway became available.
    func arrived(_ link: GatewayLink) {
        perform { state in
            state.links[link.number] = link
            return state.plan.arrived(link.number, now: BusClock.now)
        }
    }

    /// A gateway became unavailable, or takes no more calls.
    func left(_ link: GatewayLink) {
        state.withLock { state in
            state.links[link.number] = nil
            state.plan.left(link.number)
        }
    }

    /// Ends waiting calls whose deadline has passed.
    func tick() { perform { $0.plan.tick(now: BusClock.now) } }

    /// Refuses new calls, and ends the calls that wait for a gateway.
    func stop() { perform { $0.plan.stop() } }

    private func settle(_ id: CallPlan.CallID, _ outcome: LaneLink.CallOutcome) {
        switch outcome {
        case .answered(let result):
            let completion = state.withLock { state in
                state.plan.ended(id)
                return state.calls.removeValue(forKey: id)?.completion
            }
            completion?(result)
        case .lost: perform { $0.plan.lost(id, now: BusClock.now) }
        case .unsent: perform { $0.plan.returned(id, now: BusClock.now) }
        }
    }

    private func perform(_ decide: (inout State) -> [CallPlan.Action]) {
        let deeds = state.withLock { state in
            decide(&state).compactMap { action -> Deed? in
                switch action {
                case .send(let id, let gateway):
                    guard let entry = state.calls[id], let link = state.links[gateway] else { return nil }
                    return .send(id, entry.message, link)
                case .end(let id, let ending):
                    return state.calls.removeValue(forKey: id).map { .end($0.completion, BusFailure(ending)) }
                }
            }
        }
        for deed in deeds {
            switch deed {
            case .send(let id, let message, let link):
                link.call(message) { [self] in settle(id, $0) }
            case .end(let completion, let failure): completion(.failure(failure))
            }
        }
    }
}

extension BusFailure {
    fileprivate init(_ ending: CallPlan.Ending) {
        switch ending {
        case .neverSent: self = .unavailable("No gateway is there; try again.")
        case .timedOut: self = .timedOut
        case .outcomeUnknown: self = .outcomeUnknown
        case .stopping: self = .unavailable("The service is stopping.")
        }
    }
}
