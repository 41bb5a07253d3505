import ParseProtocol

/// Decides the order in which waiting reads run. Does no I/O; time is an argument.
///
/// The network with the least recent use comes first, and within it the client with the least recent use. A client with
/// one query thus overtakes clients that keep the readers busy, even if those have many accounts on one network or many
/// addresses. A read that turns out to be long moves to the long reads, which have a reader thread of their own: a
/// short read never waits for a long one to finish.
package struct ReadQueue {
    package typealias Ticket = UInt64

    package enum Kind { case short, long }
    package enum Refusal: Error { case clientHasTooMany, full }

    /// Limits of waiting reads that are not known to be costly: in total and per client.
    package static let waitingMax = 4096
    package static let waitingPerClientMax = 1024
    /// Limit per near network; its wide network may have three quarters of the total.
    package static let waitingPerNetworkMax = 1536
    /// Limits of waiting reads that already exceeded their slice on a lane. They occupy slots in the gateway's windows
    /// (`Dispatcher.windowMax` per lane), so these limits must be lower.
    package static let costlyMax = 96
    package static let costlyPerClientMax = 24
    package static let costlyPerNetworkMax = 32
    /// Differences in use below this many nanoseconds do not count: that is the cost of a few pages of a shop.
    private static let step = 25e6
    /// Up to this many reads of equal rank run in the order of their arrival. With more of them the client of the
    /// newest read comes first, so that at least some do not wait for all.
    private static let equalsInOrder = 8

    private struct Item {
        let ticket: Ticket
        let client: WorkClient
        var kind: Kind
        var isCostly: Bool
    }

    private var waiting: [Item] = []
    private var running: [Ticket: Item] = [:]
    /// Use in nanoseconds of processor time.
    private var usage = DecayingUse<WorkClient>()
    private var networkUsage = NetworkUse()
    /// Waiting reads by network.
    private var costly = NetworkAmounts(nearLimit: costlyPerNetworkMax, total: costlyMax)
    private var usual = NetworkAmounts(nearLimit: waitingPerNetworkMax, total: waitingMax)
    private var lastTicket: Ticket = 0

    package var isIdle: Bool { waiting.isEmpty && running.isEmpty }
    package var waitingCount: Int { waiting.count }

    package init() {}

    /// Adds a read. If the queue is full, the read takes the place of one whose client has more recent use, so that
    /// many clients that keep the readers busy cannot keep others out.
    /// - Parameter isCostly: the read already exceeded its time slice elsewhere, or a lane has no time for it.
    /// - Returns: the new read's ticket, and that of the read that lost its place.
    package mutating func enter(
        _ client: WorkClient, isCostly: Bool, now: UInt64
    ) throws(Refusal) -> (ticket: Ticket, displaced: Ticket?) {
        let alike = waiting.count { $0.isCostly == isCostly }
        if client != .shop, alike >= (isCostly ? Self.costlyPerClientMax : Self.waitingPerClientMax) {
            let own = waiting.count { $0.isCostly == isCostly && $0.client == client }
            guard own < (isCostly ? Self.costlyPerClientMax : Self.waitingPerClientMax) else { throw .clientHasTooMany }
        }
        if let network = client.network, !(isCostly ? costly : usual).hasRoom(network) { throw .clientHasTooMany }
        // The operator's limit is twice the clients': when clients fill their half, the other half is free for the
        // operator.
        let max = (isCostly ? Self.costlyMax : Self.waitingMax) * (client == .shop ? 2 : 1)
        let displaced = alike < max ? nil : try displace(for: client, isCostly: isCostly, now)
        lastTicket += 1
        append(Item(ticket: lastTicket, client: client, kind: .short, isCostly: isCostly))
        return (lastTicket, displaced)
    }

    /// Removes the read of the client with the most recent use, if that is more than this client's.
    private mutating func displace(for client: WorkClient, isCostly: Bool, _ now: UInt64) throws(Refusal) -> Ticket {
        var most = (use: use(of: client, now), place: -1)
        for (place, item) in waiting.enumerated() where item.isCostly == isCostly && item.client != .shop {
            let use = use(of: item.client, now)
            if use > most.use { most = (use, place) }
        }
        guard most.place >= 0 else { throw .full }
        let item = waiting.remove(at: most.place)
        count(-1, item)
        return item.ticket
    }

    /// The recent use of the client's network and of the client itself.
    private func use(of client: WorkClient, _ now: UInt64) -> (network: Int, own: Int) {
        let own = Int(usage.amount(of: client, at: now) / Self.step)
        return (client.network.map { Int(networkUsage.amount(of: $0, at: now) / Self.step) } ?? own, own)
    }

    /// The next read for a reader thread of this kind. The thread for long reads takes a short one when no long one
    /// waits.
    package mutating func next(for reader: Kind, now: UInt64) -> (ticket: Ticket, kind: Kind)? {
        guard let place = best(reader, now) ?? (reader == .long ? best(.short, now) : nil) else { return nil }
        let item = waiting.remove(at: place)
        count(-1, item)
        running[item.ticket] = item
        return (item.ticket, item.kind)
    }

    /// Records the end of a read.
    /// - Parameters:
    ///   - used: nanoseconds of processor time.
    ///   - isLong: the read is not finished and continues among the long reads under the same ticket.
    package mutating func ended(_ ticket: Ticket, used: UInt64, now: UInt64, isLong: Bool = false) {
        guard var item = running.removeValue(forKey: ticket) else { return }
        usage.add(used, to: item.client, at: now)
        if let network = item.client.network { networkUsage.add(used, to: network, at: now) }
        guard isLong else { return }
        item.kind = .long
        item.isCostly = true
        append(item)
    }

    private mutating func append(_ item: Item) {
        waiting.append(item)
        count(1, item)
    }

    private mutating func count(_ number: Int, _ item: Item) {
        guard let network = item.client.network else { return }
        if item.isCostly { costly.add(number, of: network) } else { usual.add(number, of: network) }
    }

    private func best(_ kind: Kind, _ now: UInt64) -> Int? {
        guard waiting.count > 1 else { return waiting.first?.kind == kind ? 0 : nil }
        var best: (rank: (Int, Int, Int, Int), first: Int, last: Int, count: Int)?
        var runs: [WorkClient: Int] = [:]
        var networkRuns: [UInt64: Int] = [:]
        for item in running.values {
            runs[item.client, default: 0] += 1
            if let network = item.client.network { networkRuns[network.near, default: 0] += 1 }
        }
        for (place, item) in waiting.enumerated() where item.kind == kind {
            let use = use(of: item.client, now)
            let ownRuns = runs[item.client] ?? 0
            let networkRuns = item.client.network.map { networkRuns[$0.near] ?? 0 } ?? ownRuns
            let rank = (networkRuns, use.network, ownRuns, use.own)
            if let current = best, current.rank == rank {
                best = (rank, current.first, place, current.count + 1)
            } else if best.map({ rank < $0.rank }) ?? true {
                best = (rank, place, place, 1)
            }
        }
        guard let best, best.count > Self.equalsInOrder else { return best?.first }
        let client = waiting[best.last].client
        return waiting.firstIndex { $0.kind == kind && $0.client == client }
    }
}
