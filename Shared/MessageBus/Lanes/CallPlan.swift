/// Decides by which gateway a call of a service goes, and what becomes of it when that gateway goes away: without I/O.
///
/// A gateway is there while each lane is connected to it. Events return what must be done.
package struct CallPlan {
    /// The number of a call, from 1.
    package typealias CallID = UInt64
    /// The number of a gateway's link; one that comes back keeps it.
    package typealias GatewayID = Int

    package enum Action: Equatable {
        case send(CallID, GatewayID)
        case end(CallID, Ending)
    }

    /// The end of a call that gets no answer.
    package enum Ending: Equatable {
        /// No gateway had it; certainly not carried out.
        case neverSent
        /// The deadline passed.
        case timedOut
        /// A gateway went away with it, and repeating it is not safe.
        case outcomeUnknown
        /// This process stops; certainly not carried out.
        case stopping
    }

    /// Gateways that may go away with a call before it is given up: they may be restarted one after the other while it
    /// is under way, but a call that ends gateways must not end all of them.
    package static var lossesMax: Int { 3 }
    /// A gateway that came just now waits for the lanes of other services as well. Until then another one is taken.
    package static var settlingMilliseconds: BusClock.Milliseconds { 2000 }

    private struct Call {
        let isRepeatable: Bool
        let deadline: BusClock.Milliseconds
        var wasSent = false
        var losses = 0
    }

    private var calls: [CallID: Call] = [:]
    /// Calls that wait for a gateway, in their order.
    private var held: [CallID] = []
    /// The gateways that are there, by number, and since when.
    private var gateways: [(id: GatewayID, since: BusClock.Milliseconds)] = []
    private var lastCall: CallID = 0
    private var turn: UInt = 0
    private var isStopping = false

    package init() {}

    // MARK: Gateways

    /// A gateway is there: calls that wait go to it.
    package mutating func arrived(_ gateway: GatewayID, now: BusClock.Milliseconds) -> [Action] {
        guard !gateways.contains(where: { $0.id == gateway }) else { return [] }
        gateways.append((gateway, now))
        gateways.sort { $0.id < $1.id }
        let waiting = held
        held = []
        return waiting.flatMap { place($0, now: now) }
    }

    /// A gateway is not there any more, or takes no more calls. Those that it has are told of one by one.
    package mutating func left(_ gateway: GatewayID) { gateways.removeAll { $0.id == gateway } }

    // MARK: Calls

    /// A call begins.
    /// - Parameters:
    ///   - isRepeatable: a read, or a change that is recognised by its key.
    ///   - deadline: after which nobody waits for its answer.
    package mutating func begin(
        isRepeatable: Bool, deadline: BusClock.Milliseconds, now: BusClock.Milliseconds
    ) -> (id: CallID, actions: [Action]) {
        lastCall += 1
        calls[lastCall] = Call(isRepeatable: isRepeatable, deadline: deadline)
        return (lastCall, place(lastCall, now: now))
    }

    /// A call was answered, or its answer did not come in time.
    package mutating func ended(_ id: CallID) { calls[id] = nil }

    /// A gateway went away and had the call.
    package mutating func lost(_ id: CallID, now: BusClock.Milliseconds) -> [Action] {
        guard var call = calls[id] else { return [] }
        call.losses += 1
        calls[id] = call
        guard call.isRepeatable, call.losses < Self.lossesMax, !isStopping else { return end(id, .outcomeUnknown) }
        return place(id, now: now)
    }

    /// A lane that had lost its gateway did not send the call.
    package mutating func returned(_ id: CallID, now: BusClock.Milliseconds) -> [Action] {
        guard let call = calls[id] else { return [] }
        calls[id]?.wasSent = call.losses > 0
        return place(id, now: now)
    }

    /// Ends the calls that wait for a gateway and whose time is over. To be called once or more in a second.
    package mutating func tick(now: BusClock.Milliseconds) -> [Action] {
        guard !held.isEmpty else { return [] }
        let waiting = held
        held = []
        return waiting.flatMap { place($0, now: now) }
    }

    /// Nothing is sent from now on. Calls that a gateway has are ended by `lost`.
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

    /// The gateways that are there take turns.
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
