import Messages
import ParseProtocol

/// Which lane gets a request: a read whichever has least to do, a write the writer, and what is shared any process that
/// runs what the writer runs.
extension Dispatcher {
    private func isEligible(_ lane: Lane, writes: Bool) -> Bool {
        !lane.isLeaving && (!writes || lane.hello.writer)
            && (lane.inFlight.count < Self.windowMax || withoutWindow.contains(lane.hello.service))
    }

    /// The lane for the next request of a service.
    mutating func chosenLane(of service: Substring, for envelope: Envelope) -> LaneID? {
        guard let ids = lanesOfService[service], !ids.isEmpty else { return nil }
        guard envelope.writes else { return leastLoaded(of: ids) }
        if envelope.shared, let edition = editions[service] {
            let sharing = ids.filter { lanes[$0].map { $0.leads && $0.hello.edition == edition } ?? false }
            if let lane = own(of: sharing, for: envelope) ?? leastLoaded(of: sharing) { return lane }
        }
        // All writes wait for the same writer, whichever lane brings them. On one lane they and their answers travel in
        // batches, and the other lanes are free for reads. The same holds for what is shared in each process.
        return ids.first { lanes[$0].map { isEligible($0, writes: true) && !$0.isDoubtful } ?? false }
            ?? ids.first { lanes[$0].map { isEligible($0, writes: true) } ?? false }
    }

    /// The lane that has the shared changes of a client, as long as it is there: by another one they could overtake
    /// each other. Nil for what is no change (it has no key), for the shop's own, and while that lane has no room.
    private func own(of sharing: [LaneID], for envelope: Envelope) -> LaneID? {
        guard !envelope.idempotencyKey.isEmpty, let client = envelope.principal.sequence else { return nil }
        // The highest number of client and replica together: when a replica comes or goes, its own clients alone move.
        var best: (id: LaneID, rank: UInt64)?
        for id in sharing {
            guard let lane = lanes[id], !lane.isLeaving else { continue }
            var rank = FNV1a(after: client)
            rank.add(lane.hello.replica.utf8)
            if rank.mixed >= best?.rank ?? 0 { best = (id, rank.mixed) }
        }
        guard let id = best?.id, let lane = lanes[id], !lane.isDoubtful, isEligible(lane, writes: false) else {
            return nil
        }
        return id
    }

    private mutating func leastLoaded(of ids: [LaneID]) -> LaneID? {
        // Starting at a different lane each time spreads an idle service's requests evenly.
        turn &+= 1
        var best: (id: LaneID, load: Int)?
        for offset in ids.indices {
            let id = ids[Int((turn &+ UInt(offset)) % UInt(ids.count))]
            guard let lane = lanes[id], isEligible(lane, writes: false) else { continue }
            // A doubtful one comes after all others, however much they have.
            let load = lane.inFlight.count + (lane.isDoubtful ? .max / 2 : 0)
            if load < best?.load ?? .max { best = (id, load) }
        }
        return best?.id
    }
}

extension Principal {
    /// Whose changes keep their order: a user's, or those of an address where nobody is signed in. Nil for the operator
    /// and for ourselves.
    fileprivate var sequence: UInt64? {
        if master || network.isEmpty { return nil }
        var hash = FNV1a()
        hash.add(userID.isEmpty ? network.utf8 : userID.utf8)
        return hash.mixed
    }
}
