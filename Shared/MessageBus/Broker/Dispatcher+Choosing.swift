import Messages
import ParseProtocol

/// Chooses the lane for a request: the least loaded one for a read, the writer for a write, and any process with the
/// writer's edition for a shared write.
extension Dispatcher {
    private func isEligible(_ lane: Lane, writes: Bool) -> Bool {
        !lane.isLeaving && (!writes || lane.hello.writer)
            && (lane.inFlight.count < Self.windowMax || withoutWindow.contains(lane.hello.service))
    }

    /// The least loaded lane of a replica; nil when it has none. Such requests are few, so they ignore the window.
    func lane(of service: Substring, in replica: String) -> LaneID? {
        let own = (lanesOfService[service] ?? []).filter {
            lanes[$0].map { !$0.isLeaving && $0.hello.replica == replica } ?? false
        }
        return own.min { lanes[$0]?.inFlight.count ?? 0 < lanes[$1]?.inFlight.count ?? 0 }
    }

    /// The lane for a request to a service.
    mutating func chosenLane(of service: Substring, for envelope: Envelope) -> LaneID? {
        guard let ids = lanesOfService[service], !ids.isEmpty else { return nil }
        guard envelope.writes else { return leastLoaded(of: ids) }
        if envelope.shared, let edition = editions[service] {
            let sharing = ids.filter { lanes[$0].map { $0.leads && $0.hello.edition == edition } ?? false }
            if let lane = own(of: sharing, for: envelope) ?? leastLoaded(of: sharing) { return lane }
        }
        // All writes wait for the same writer, whichever lane they use. On one lane they and their replies travel in
        // batches, and the other lanes stay free for reads. The same holds for shared writes within each process.
        return ids.first { lanes[$0].map { isEligible($0, writes: true) && !$0.isDoubtful } ?? false }
            ?? ids.first { lanes[$0].map { isEligible($0, writes: true) } ?? false }
    }

    /// The lane for a client's shared writes while its process is connected; on different lanes they could overtake
    /// each other. Nil for a request without a key, for the shop's own requests, and while that lane's window is full.
    private func own(of sharing: [LaneID], for envelope: Envelope) -> LaneID? {
        guard !envelope.idempotencyKey.isEmpty, let client = envelope.principal.sequence else { return nil }
        // Rendezvous hashing: the replica with the highest hash of client and replica wins. When a replica joins or
        // leaves, only its own clients move.
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
        // A different start each time distributes the requests of an idle service evenly.
        turn &+= 1
        var best: (id: LaneID, load: Int)?
        for offset in ids.indices {
            let id = ids[Int((turn &+ UInt(offset)) % UInt(ids.count))]
            guard let lane = lanes[id], isEligible(lane, writes: false) else { continue }
            // A doubtful lane ranks after all others, whatever their load.
            let load = lane.inFlight.count + (lane.isDoubtful ? .max / 2 : 0)
            if load < best?.load ?? .max { best = (id, load) }
        }
        return best?.id
    }
}

extension Principal {
    /// The client whose writes must keep their order: a user, or an address without a signed-in user. Nil for the
    /// operator and for Satchel itself.
    fileprivate var sequence: UInt64? {
        if master || network.isEmpty { return nil }
        var hash = FNV1a()
        hash.add(userID.isEmpty ? network.utf8 : userID.utf8)
        return hash.mixed
    }
}
