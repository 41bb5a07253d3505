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
    func lane(of service: Substring, in replica: String) -> Lane? {
        let own = (lanesOfService[service] ?? []).filter { !$0.isLeaving && $0.hello.replica == replica }
        return own.min { $0.inFlight.count < $1.inFlight.count }
    }

    /// The lane for a request to a service.
    mutating func chosenLane(of service: Substring, for envelope: Envelope) -> Lane? {
        guard let all = lanesOfService[service], !all.isEmpty else { return nil }
        guard envelope.writes else { return leastLoaded(of: all) }
        if envelope.shared, let edition = editions[service] {
            let sharing = all.filter { $0.isFirst && $0.hello.edition == edition }
            if let lane = own(of: sharing, for: envelope) ?? leastLoaded(of: sharing) { return lane }
        }
        // All writes use the writer's first lane with room: there they travel in batches, and the other lanes stay free
        // for reads. For the same reason shared writes use only the first lane of each process.
        return all.first { isEligible($0, writes: true) && !$0.isDoubtful }
            ?? all.first { isEligible($0, writes: true) }
    }

    /// The lane for a client's shared writes while its process is connected; on different lanes they could overtake
    /// each other. Nil for a request without a key, for the shop's own requests, and while that lane's window is full.
    private func own(of sharing: [Lane], for envelope: Envelope) -> Lane? {
        guard !envelope.idempotencyKey.isEmpty, let client = envelope.principal.sequence else { return nil }
        // Rendezvous hashing: the replica with the highest hash of client and replica wins. When a replica joins or
        // leaves, only its own clients move.
        var best: (lane: Lane, rank: UInt64)?
        for lane in sharing where !lane.isLeaving {
            var rank = FNV1a(after: client)
            rank.add(lane.hello.replica.utf8)
            if rank.mixed >= best?.rank ?? 0 { best = (lane, rank.mixed) }
        }
        guard let lane = best?.lane, !lane.isDoubtful, isEligible(lane, writes: false) else { return nil }
        return lane
    }

    private mutating func leastLoaded(of all: [Lane]) -> Lane? {
        // A different start each time distributes the requests of an idle service evenly.
        turn &+= 1
        var best: (lane: Lane, load: Int)?
        for offset in all.indices {
            let lane = all[Int((turn &+ UInt(offset)) % UInt(all.count))]
            guard isEligible(lane, writes: false) else { continue }
            // A doubtful lane ranks after all others, whatever their load.
            let load = lane.inFlight.count + (lane.isDoubtful ? .max / 2 : 0)
            if load < best?.load ?? .max { best = (lane, load) }
        }
        return best?.lane
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
