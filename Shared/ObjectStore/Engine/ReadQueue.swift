import ParseProtocol

/// Decides in which order waiting reads run: without I/O, time is an argument.
///
/// Whoever used least lately comes first, so that a client with one question passes those who keep the readers busy. A
/// read that turns out to be long goes on among the long ones, which have a reader of their own: short ones never wait
/// for the end of a long one.
package struct ReadQueue {
    package typealias Ticket = UInt64

    package enum Kind { case short, long }
    package enum Refusal: Error { case clientHasTooMany, full }

    /// Waiting reads that nobody knows to be costly, of all and of one client.
    package static let waitingMax = 4096
    package static let waitingPerClientMax = 1024
    /// Waiting reads that took too long for a lane already. They keep their place in the gateway's windows
    /// (`Dispatcher.windowMax` a lane), so that they must be fewer.
    package static let costlyMax = 96
    package static let costlyPerClientMax = 24
    /// Nanoseconds by which use must differ to count: less is what a few pages of a shop take.
    private static let step = 25e6
    /// Equals that have their turns in the order in which they came.
    private static let equalsInOrder = 8

    private struct Item {
        let ticket: Ticket
        let client: WorkClient
        var kind: Kind
        var isCostly: Bool
    }

    private var waiting: [Item] = []
    private var running: [Ticket: Item] = [:]
    /// Nanoseconds of processor time.
    private var usage = FadingUse<WorkClient>()
    private var lastTicket: Ticket = 0

    package var isIdle: Bool { waiting.isEmpty && running.isEmpty }
    package var waitingCount: Int { waiting.count }

    package init() {}

    /// - Parameter isCostly: it took too long elsewhere.
    package mutating func enter(_ client: WorkClient, isCostly: Bool) throws(Refusal) -> Ticket {
        let alike = waiting.count { $0.isCostly == isCostly }
        // Clients who fill it leave the operator as many places again.
        let max = (isCostly ? Self.costlyMax : Self.waitingMax) * (client == .shop ? 2 : 1)
        guard alike < max else { throw .full }
        if client != .shop, alike >= (isCostly ? Self.costlyPerClientMax : Self.waitingPerClientMax) {
            let own = waiting.count { $0.isCostly == isCostly && $0.client == client }
            guard own < (isCostly ? Self.costlyPerClientMax : Self.waitingPerClientMax) else { throw .clientHasTooMany }
        }
        lastTicket += 1
        waiting.append(Item(ticket: lastTicket, client: client, kind: .short, isCostly: isCostly))
        return lastTicket
    }

    /// The next read for a reader of this kind; one for long reads takes a short one when there is nothing else.
    package mutating func next(for reader: Kind, now: UInt64) -> (ticket: Ticket, kind: Kind)? {
        guard let place = best(reader, now) ?? (reader == .long ? best(.short, now) : nil) else { return nil }
        let item = waiting.remove(at: place)
        running[item.ticket] = item
        return (item.ticket, item.kind)
    }

    /// A read ended.
    /// - Parameters:
    ///   - used: nanoseconds of processor time.
    ///   - isLong: it is not done, and goes on among the long ones under the same ticket.
    package mutating func ended(_ ticket: Ticket, used: UInt64, now: UInt64, isLong: Bool = false) {
        guard var item = running.removeValue(forKey: ticket) else { return }
        usage.add(used, to: item.client, at: now)
        guard isLong else { return }
        item.kind = .long
        item.isCostly = true
        waiting.append(item)
    }

    private func best(_ kind: Kind, _ now: UInt64) -> Int? {
        guard waiting.count > 1 else { return waiting.first?.kind == kind ? 0 : nil }
        var best: (rank: (Int, Int), first: Int, last: Int, count: Int)?
        var runs: [WorkClient: Int] = [:]
        for item in running.values { runs[item.client, default: 0] += 1 }
        for (place, item) in waiting.enumerated() where item.kind == kind {
            let used = usage.amount(of: item.client, at: now)
            let rank = (runs[item.client] ?? 0, Int(used / Self.step))
            if let current = best, current.rank == rank {
                best = (rank, current.first, place, current.count + 1)
            } else if best.map({ rank < $0.rank }) ?? true {
                best = (rank, place, place, 1)
            }
        }
        // Where many come who used nothing yet, in order each would wait for all of them: then the last of them is
        // next.
        guard let best, best.count > Self.equalsInOrder else { return best?.first }
        let client = waiting[best.last].client
        return waiting.firstIndex { $0.kind == kind && $0.client == client }
    }
}
