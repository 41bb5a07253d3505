/// Decides through which gateway a service's call goes, and what happens when that gateway goes away. Has no I/O.
///
/// A gateway is available while all lanes are connected to it. Events return the actions to perform.
package struct CallPlan {
    /// The number of a call, from 1.
    package typealias CallID = UInt64
    /// The number of a gateway's link; a reconnected gateway keeps it.
    package typealias GatewayID = Int

    package enum Action: Equatable {
        case send(CallID, GatewayID)
        case end(CallID, Ending)
    }

    /// The end of a call without a reply.
    package enum Ending: Equatable {
        /// No gateway was available; the call was not executed.
        case neverSent
        /// The deadline passed.
        case timedOut
        /// A gateway went away with the call, and repeating it is not safe.
        case outcomeUnknown
        /// This process stops; the call was not executed.
        case stopping
    }

    /// Gateways that may go away with a call before it is given up. A rolling restart of gateways may hit a call
    /// several times, but a call that crashes gateways must not crash all of them.
    package static var lossesMax: Int { 3 }
    /// A newly connected gateway may lack lanes of other services. During this time other gateways are preferred.
    package static var settlingMilliseconds: BusClock.Milliseconds { 2000 }

    private struct Call {
        let isRepeatable: Bool
        let deadline: BusClock.Milliseconds
        var wasSent = false
        var losses = 0
    }

    private var calls: [CallID: Call] = [:]
    /// Calls that wait for a gateway, in order.
    private var held: [CallID] = []
    /// The available gateways by number, and since when they are available.
    private var gateways: [(id: GatewayID, since: BusClock.Milliseconds)] = []
    private var lastCall: CallID = 0
    private var turn: UInt = 0
    private var isStopping = false

    package init() {}

    // MARK: Gateways

    /// A gateway became available and gets the waiting calls.
    package mutating func arrived(_ gateway: GatewayID, now: BusClock.Milliseconds) -> [Action] {
        guard !gateways.contains(where: { $0.id == gateway }) else { return [] }
        gateways.append((gateway, now))
        gateways.sort { $0.id < $1.id }
        let waiting = held
        held = []
        return waiting.flatMap { place($0, now: now) }
    }

    /// A gateway became unavailable, or takes no more calls. `lost` reports each of its calls separately.
    package mutating func left(_ gateway: GatewayID) { gateways.removeAll { $0.id == gateway } }

    // MARK: Calls

    /// A call begins.
    /// - Parameters:
    ///   - isRepeatable: a read, or a change that is recognised by its key.
    ///   - deadline: the deadline of its reply.
    package mutating func begin(
        isRepeatable: Bool, deadline: BusClock.Milliseconds, now: BusClock.Milliseconds
    ) -> (id: CallID, actions: [Action]) {
        lastCall += 1
        calls[lastCall] = Call(isRepeatable: isRepeatable, deadline: deadline)
        return (lastCall, place(lastCall, now: now))
    }

    /// A call was answered or timed out.
    package mutating func ended(_ id: CallID) { calls[id] = nil }

    /// A gateway went away with the call.
    package mutating func lost(_ id: CallID, now: BusClock.Milliseconds) -> [Action] {
        guard var call = calls[id] else { return [] }
        call.losses += 1
        calls[id] = call
        guard call.isRepeatable, call.losses < Self.lossesMax, !isStopping else { return end(id, .outcomeUnknown) }
        return place(id, now: now)
    }

    /// A lane without a connection did not send the call.
    package mutating func returned(_ id: CallID, now: BusClock.Milliseconds) -> [Action] {
        guard let call = calls[id] else { return [] }
        calls[id]?.wasSent = call.losses > 0
        return place(id, now: now)
    }

    /// Ends waiting calls whose deadline has passed. To be called at least once a second.
    package mutating func tick(now: BusClock.Milliseconds) -> [Action] {
        guard !held.isEmpty else { return [] }
        let waiting = held
        held = []
        return waiting.flatMap { place($0, now: now) }
    }

    /// Sends nothing from now on. Calls already sent to a gateway end by `lost`.
    package mutating func stop() -> [Action] {
        isStopping = true
        defer { held = [] }
        return held.flatMap { end($0, calls[$0]?.wasSent == true ? .outcomeUnknown : .stopping) }
    }

    // MARK: Choosing

    private mutating func place(_ id: CallID, now: BusClock.Milliseconds) -> [Action] {
        guard let call = calls[id] else { return [] }
        if isStopping { return end(id, call.wasSent ? .outcomeUnknown : .stopping) }
        guard call.deadline > now else { return end(id, call.wasSent ? .timedOut : .neverSent) }
        guard let gateway = next(now: now) else {
            held.append(id)
            return []
        }
        calls[id]?.wasSent = true
        return [.send(id, gateway)]
    }

    /// Round robin among the available gateways.
    private mutating func next(now: BusClock.Milliseconds) -> GatewayID? {
        let settled = gateways.filter { now - $0.since >= Self.settlingMilliseconds }
        let choice = settled.isEmpty ? gateways : settled
        guard !choice.isEmpty else { return nil }
        turn &+= 1
        return choice[Int(turn % UInt(choice.count))].id
    }

    private mutating func end(_ id: CallID, _ ending: Ending) -> [Action] {
        calls[id] = nil
        return [.end(id, ending)]
    }
}
