import Messages

/// Decides when a change of which gateways must hear may be answered: when each that could still believe what was
/// before has forgotten it, or its lease has certainly run out. A writer's half of the leases, without I/O.
///
/// Every forgetting begins a round, which waits for each gateway whose lease may still run. While a gateway owes an
/// answer it gets no new lease, so that no round lasts longer than a lease does. One that comes in the middle is not
/// waited for; it has to forget what is under way before its first lease.
package struct ForgetRounds<Reply> {
    package typealias GatewayID = UInt64

    /// A message to a gateway: what it must forget, under the round's number.
    package struct Telling {
        package let gateway: GatewayID
        package let round: UInt64
        package let forget: Forget
    }

    private struct Member {
        /// Of the last lease; nil before the first.
        var grantedAt: BusClock.Milliseconds?
        /// See `Lease.since`.
        var since: UInt64
        /// Rounds whose answers it owes.
        var owed: Set<UInt64> = []

        func mayBelieve(_ now: BusClock.Milliseconds) -> Bool {
            grantedAt.map { now < $0 + LeaseTerms.length + LeaseTerms.margin } ?? false
        }

        /// Whether it has had a lease, which is over.
        func hasLapsed(_ now: BusClock.Milliseconds) -> Bool { grantedAt != nil && !mayBelieve(now) }
    }

    private struct Round {
        let forget: Forget
        let reply: Reply
        var waitsFor: Set<GatewayID>
    }

    /// Processes that asked once and are remembered. Each restart of a gateway is another one.
    package static var membersMax: Int { 64 }

    private var members: [GatewayID: Member] = [:]
    private var rounds: [UInt64: Round] = [:]
    /// The number of the last round, which is how many there were.
    private var last: UInt64 = 0
    private var term: UInt64 = 0
    /// The moment at which the leases have run out that an earlier writer gave.
    private var earlierEnd: BusClock.Milliseconds = 0
    private var isClosed = false

    package init() {}

    /// Whether replies are held.
    package var isWaiting: Bool { !rounds.isEmpty }

    // MARK: The writer's time

    /// This process is the writer from now on.
    package mutating func begin(term: UInt64, now: BusClock.Milliseconds) {
        self.term = term
        // The one before may have given a lease in its last moment, to a gateway that never asks us.
        earlierEnd = now + LeaseTerms.length + LeaseTerms.margin
    }

    /// No lease is given any more: another writer may be next, who knows only when this one ended.
    package mutating func close() { isClosed = true }

    // MARK: Gateways

    /// A gateway asks for a lease.
    /// - Returns: the lease, or none and what the gateway has to forget before it gets one.
    package mutating func ask(_ id: GatewayID, now: BusClock.Milliseconds) -> (lease: Lease?, tellings: [Telling]) {
        guard term != 0, !isClosed else { return (nil, []) }
        if members[id] == nil { admit(id, now: now) }
        guard var member = members[id] else { return (nil, []) }
        guard member.owed.isEmpty else {
            return (nil, member.owed.sorted().compactMap { telling($0, to: id) })
        }
        member.grantedAt = now
        members[id] = member
        return (
            .with {
                $0.term = term
                $0.since = member.since
            }, []
        )
    }

    /// One that comes anew has to forget what is under way, so that it knows of each round that ends from now on.
    private mutating func admit(_ id: GatewayID, now: BusClock.Milliseconds) {
        if members.count >= Self.membersMax {
            for (other, member) in members where !member.mayBelieve(now) { leave(other) }
        }
        // All of them believe something at this moment: no sound suite has so many gateways.
        guard members.count < Self.membersMax else { return }
        members[id] = Member(since: last, owed: Set(rounds.keys))
    }

    private func telling(_ number: UInt64, to id: GatewayID) -> Telling? {
        rounds[number].map { Telling(gateway: id, round: number, forget: $0.forget) }
    }

    /// A gateway has forgotten what a round told it.
    package mutating func heard(_ id: GatewayID, _ number: UInt64, now: BusClock.Milliseconds) -> [Reply] {
        members[id]?.owed.remove(number)
        rounds[number]?.waitsFor.remove(id)
        return ended(now)
    }

    /// A gateway stops, and believes nothing any more.
    package mutating func left(_ id: GatewayID, now: BusClock.Milliseconds) -> [Reply] {
        leave(id)
        return ended(now)
    }

    /// What it learns from now on begins with another `since`, unless nothing was forgotten in between.
    private mutating func leave(_ id: GatewayID) {
        for number in members.removeValue(forKey: id)?.owed ?? [] { rounds[number]?.waitsFor.remove(id) }
    }

    // MARK: Rounds

    /// A change was made of which gateways must hear before its reply leaves.
    /// - Returns: whom to tell; nil when the reply may leave now.
    package mutating func forget(_ forget: Forget, holding reply: Reply, now: BusClock.Milliseconds) -> [Telling]? {
        last += 1
        // Whoever believes nothing now and is not told has missed it: should it come again, it begins anew.
        for (id, member) in members where member.hasLapsed(now) { leave(id) }
        let believers = members.filter { $0.value.mayBelieve(now) }.keys
        guard !believers.isEmpty || now < earlierEnd else {
            members = [:]  // Those who wait for their first lease.
            return nil
        }
        rounds[last] = Round(forget: forget, reply: reply, waitsFor: Set(believers))
        for id in members.keys { members[id]?.owed.insert(last) }
        return members.keys.sorted().compactMap { telling(last, to: $0) }
    }

    /// Ends the wait for gateways whose lease has run out. To be called several times a second while `isWaiting`.
    /// - Returns: the replies that may leave, in the order of their changes.
    package mutating func tick(now: BusClock.Milliseconds) -> [Reply] {
        for (id, member) in members where !member.owed.isEmpty && member.hasLapsed(now) { leave(id) }
        return ended(now)
    }

    private mutating func ended(_ now: BusClock.Milliseconds) -> [Reply] {
        guard now >= earlierEnd else { return [] }
        let numbers = rounds.filter { $0.value.waitsFor.isEmpty }.keys.sorted()
        // Whoever came in the middle and has not forgotten it has missed it.
        for (id, member) in members where !member.owed.isDisjoint(with: numbers) { leave(id) }
        return numbers.compactMap { rounds.removeValue(forKey: $0)?.reply }
    }
}
