import Messages

/// Decides when the reply to a change with an invalidation may leave: when each gateway that may still use the old
/// state has confirmed the invalidation, or when its lease has certainly expired. The writer's half of the leases,
/// without I/O.
///
/// Each invalidation starts a round, which waits for every gateway whose lease may still run. While a gateway owes a
/// confirmation it gets no new lease, so a round lasts no longer than a lease. A round does not wait for a gateway that
/// joins during it; that gateway must apply the invalidation before it gets its first lease.
package struct InvalidationRounds<Reply> {
    package typealias GatewayID = UInt64

    /// An invalidation for a gateway, with the number of its round.
    package struct Telling {
        package let gateway: GatewayID
        package let round: UInt64
        package let forget: Forget
    }

    private struct Member {
        /// The time of the last lease; nil before the first.
        var grantedAt: BusClock.Milliseconds?
        /// See `Lease.since`.
        var since: UInt64
        /// Rounds that it has not confirmed.
        var owed: Set<UInt64> = []

        func mayUseCache(_ now: BusClock.Milliseconds) -> Bool {
            grantedAt.map { now < $0 + LeaseTerms.length + LeaseTerms.margin } ?? false
        }

        /// Whether its lease has expired; false before the first lease.
        func hasLapsed(_ now: BusClock.Milliseconds) -> Bool { grantedAt != nil && !mayUseCache(now) }
    }

    private struct Round {
        let forget: Forget
        let reply: Reply
        var waitsFor: Set<GatewayID>
    }

    /// Limit of remembered gateway processes. Each restart of a gateway counts as a new one.
    package static var membersMax: Int { 64 }

    private var members: [GatewayID: Member] = [:]
    private var rounds: [UInt64: Round] = [:]
    /// The number of the last round, equal to the count of rounds.
    private var last: UInt64 = 0
    private var term: UInt64 = 0
    /// The time at which all leases of an earlier writer have expired.
    private var earlierEnd: BusClock.Milliseconds = 0
    private var isClosed = false

    package init() {}

    /// Whether replies are held.
    package var isWaiting: Bool { !rounds.isEmpty }

    // MARK: Writer

    /// This process becomes the writer.
    package mutating func begin(term: UInt64, now: BusClock.Milliseconds) {
        self.term = term
        // The previous writer may have granted a lease at the last moment, to a gateway that never asks this process.
        earlierEnd = now + LeaseTerms.length + LeaseTerms.margin
    }

    /// Stops granting leases: another writer may follow, which only knows the time at which this one ended.
    package mutating func close() { isClosed = true }

    // MARK: Gateways

    /// A gateway requests a lease.
    /// - Returns: the lease, or nil and the invalidations that the gateway must confirm first.
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

    /// A new gateway must confirm the running rounds, so that it knows every round that ends from now on.
    private mutating func admit(_ id: GatewayID, now: BusClock.Milliseconds) {
        if members.count >= Self.membersMax {
            for (other, member) in members where !member.mayUseCache(now) { leave(other) }
        }
        // All remembered gateways have valid leases; no suite has so many gateways.
        guard members.count < Self.membersMax else { return }
        members[id] = Member(since: last, owed: Set(rounds.keys))
    }

    private func telling(_ number: UInt64, to id: GatewayID) -> Telling? {
        rounds[number].map { Telling(gateway: id, round: number, forget: $0.forget) }
    }

    /// A gateway confirmed the invalidation of a round.
    package mutating func heard(_ id: GatewayID, _ number: UInt64, now: BusClock.Milliseconds) -> [Reply] {
        members[id]?.owed.remove(number)
        rounds[number]?.waitsFor.remove(id)
        return ended(now)
    }

    /// A gateway stops and no longer uses cached state.
    package mutating func left(_ id: GatewayID, now: BusClock.Milliseconds) -> [Reply] {
        leave(id)
        return ended(now)
    }

    /// A returning gateway gets another `since`, unless there was no round in between.
    private mutating func leave(_ id: GatewayID) {
        for number in members.removeValue(forKey: id)?.owed ?? [] { rounds[number]?.waitsFor.remove(id) }
    }

    // MARK: Rounds

    /// A change needs an invalidation before its reply may leave.
    /// - Returns: the invalidations to send; nil when the reply may leave now.
    package mutating func forget(_ forget: Forget, holding reply: Reply, now: BusClock.Milliseconds) -> [Telling]? {
        last += 1
        // A gateway without a valid lease that is not notified misses the invalidation, so it must join again.
        for (id, member) in members where member.hasLapsed(now) { leave(id) }
        let gatewaysWithLease = members.filter { $0.value.mayUseCache(now) }.keys
        guard !gatewaysWithLease.isEmpty || now < earlierEnd else {
            members = [:]  // The remaining members wait for their first lease.
            return nil
        }
        rounds[last] = Round(forget: forget, reply: reply, waitsFor: Set(gatewaysWithLease))
        for id in members.keys { members[id]?.owed.insert(last) }
        return members.keys.sorted().compactMap { telling(last, to: $0) }
    }

    /// Ends the wait for gateways whose leases have expired. To be called several times a second while `isWaiting`.
    /// - Returns: the replies that may leave, in the order of their changes.
    package mutating func tick(now: BusClock.Milliseconds) -> [Reply] {
        for (id, member) in members where !member.owed.isEmpty && member.hasLapsed(now) { leave(id) }
        return ended(now)
    }

    private mutating func ended(_ now: BusClock.Milliseconds) -> [Reply] {
        guard now >= earlierEnd else { return [] }
        let numbers = rounds.filter { $0.value.waitsFor.isEmpty }.keys.sorted()
        // A gateway that joined during a round and has not confirmed it has missed the invalidation.
        for (id, member) in members where !member.owed.isDisjoint(with: numbers) { leave(id) }
        return numbers.compactMap { rounds.removeValue(forKey: $0)?.reply }
    }
}
