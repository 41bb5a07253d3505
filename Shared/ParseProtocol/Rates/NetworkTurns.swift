/// Decides which jobs run at once, such as pages or pictures. Pure; `NetworkGate` shares one between requests.
///
/// While all places are taken, the waiting network with the fewest jobs in progress goes first, so that a shopper waits
/// for one job of a flood and not for all of them.
package struct NetworkTurns: Sendable {
    package typealias Ticket = UInt64

    package enum Entry: Equatable, Sendable {
        case goesOn
        case waits(Ticket)
        /// The first one waits in the place of the second one, which is refused.
        case replaces(Ticket, refused: Ticket)
        /// Too many jobs wait already, of all networks or of this one.
        case full
    }

    package struct Limits: Sendable {
        /// Jobs in progress.
        package let places: Int
        /// Jobs in progress of a network. With fewer than `places` the rest is free for the first jobs of others.
        package let placesPerNetwork: Int
        package let waiting: Int
        package let waitingPerNetwork: Int
        /// With fewer waiting jobs a network gets a place in a full line: the last one of the network with the most.
        package let few: Int

        package init(places: Int, placesPerNetwork: Int, waiting: Int, waitingPerNetwork: Int, few: Int) {
            self.places = places
            self.placesPerNetwork = placesPerNetwork
            self.waiting = waiting
            self.waitingPerNetwork = waitingPerNetwork
            self.few = few
        }
    }

    private let limits: Limits
    private var waiting: [(ticket: Ticket, network: ClientNetwork)] = []
    private var running: NetworkAmounts
    private var runningCount = 0
    private var queued: NetworkAmounts
    private var lastTicket: Ticket = 0

    package init(_ limits: Limits) {
        self.limits = limits
        running = NetworkAmounts(nearLimit: limits.placesPerNetwork, total: limits.places)
        queued = NetworkAmounts(nearLimit: limits.waitingPerNetwork, total: limits.waiting)
    }

    /// A job is wanted.
    package mutating func enter(_ network: ClientNetwork) -> Entry {
        if runningCount < limits.places, running.hasRoom(network) {
            begin(network)
            return .goesOn
        }
        guard queued.hasRoom(network) else { return .full }
        var refused: Ticket?
        if waiting.count >= limits.waiting {
            guard let ticket = removeOne(for: network) else { return .full }
            refused = ticket
        }
        queued.add(1, of: network)
        lastTicket += 1
        waiting.append((lastTicket, network))
        return refused.map { .replaces(lastTicket, refused: $0) } ?? .waits(lastTicket)
    }

    /// Removes the last waiting job of the network with the most, for a network with few.
    /// - Returns: nil when no network has more than this one would have.
    private mutating func removeOne(for network: ClientNetwork) -> Ticket? {
        let own = queued.amount(of: network)
        guard own < limits.few else { return nil }
        let amounts = waiting.map { queued.amount(of: $0.network) }
        guard let most = amounts.max(), most > own + 1, let place = amounts.lastIndex(of: most) else { return nil }
        let item = waiting.remove(at: place)
        queued.add(-1, of: item.network)
        return item.ticket
    }

    /// A job has ended.
    /// - Returns: the job that goes on in its place; nil for none.
    package mutating func leave(_ network: ClientNetwork) -> Ticket? {
        running.add(-1, of: network)
        runningCount -= 1
        var best: (place: Int, amount: Int)?
        for (place, item) in waiting.enumerated() where running.hasRoom(item.network) {
            let amount = running.amount(of: item.network)
            if best.map({ amount < $0.amount }) ?? true { best = (place, amount) }
            if amount == 0 { break }
        }
        guard let best else { return nil }
        let item = waiting.remove(at: best.place)
        queued.add(-1, of: item.network)
        begin(item.network)
        return item.ticket
    }

    private mutating func begin(_ network: ClientNetwork) {
        running.add(1, of: network)
        runningCount += 1
    }
}
