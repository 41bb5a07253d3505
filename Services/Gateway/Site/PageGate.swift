import ParseProtocol
import Synchronization

/// Decides which pages of the storefront run at once. Pure; `PageGate` shares one between requests.
///
/// A page takes time of `web` and of the services that it asks. While all places are taken, the waiting network with
/// the fewest pages in progress goes first, so that a shopper waits for one page of a flood and not for all of them.
package struct PageTurns {
    package typealias Ticket = UInt64

    package enum Entry: Equatable, Sendable {
        case goesOn
        case waits(Ticket)
        /// The first one waits in the place of the second one, which is refused.
        case replaces(Ticket, refused: Ticket)
        /// Too many pages wait already, of all networks or of this one.
        case full
    }

    /// Pages in progress.
    package static let placesMax = 32
    /// Pages in progress of a network: the rest is free for the first pages of others.
    package static let placesPerNetworkMax = 24
    package static let waitingMax = 1024
    package static let waitingPerNetworkMax = 256
    /// With fewer waiting pages a network gets a place in a full line: the last one of the network with the most.
    package static let fewMax = 8

    private var waiting: [(ticket: Ticket, network: ClientNetwork)] = []
    private var running = NetworkAmounts(nearLimit: placesPerNetworkMax, total: placesMax)
    private var runningCount = 0
    private var queued = NetworkAmounts(nearLimit: waitingPerNetworkMax, total: waitingMax)
    private var lastTicket: Ticket = 0

    package init() {}

    /// A page is wanted.
    package mutating func enter(_ network: ClientNetwork) -> Entry {
        if runningCount < Self.placesMax, running.hasRoom(network) {
            begin(network)
            return .goesOn
        }
        guard queued.hasRoom(network) else { return .full }
        var refused: Ticket?
        if waiting.count >= Self.waitingMax {
            guard let ticket = removeOne(for: network) else { return .full }
            refused = ticket
        }
        queued.add(1, of: network)
        lastTicket += 1
        waiting.append((lastTicket, network))
        return refused.map { .replaces(lastTicket, refused: $0) } ?? .waits(lastTicket)
    }

    /// Removes the last waiting page of the network with the most, for a network with few.
    /// - Returns: nil when no network has more than this one would have.
    private mutating func removeOne(for network: ClientNetwork) -> Ticket? {
        let own = queued.amount(of: network)
        guard own < Self.fewMax else { return nil }
        let amounts = waiting.map { queued.amount(of: $0.network) }
        guard let most = amounts.max(), most > own + 1, let place = amounts.lastIndex(of: most) else { return nil }
        let item = waiting.remove(at: place)
        queued.add(-1, of: item.network)
        return item.ticket
    }

    /// A page has ended.
    /// - Returns: the page that goes on in its place; nil for none.
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

/// The places of the storefront's pages (`PageTurns`).
final class PageGate: Sendable {
    private struct State {
        var turns = PageTurns()
        /// They go on with true, and are refused with false.
        var waiting: [PageTurns.Ticket: CheckedContinuation<Bool, Never>] = [:]
    }

    private let state = Mutex(State())

    /// Runs a page when it is its turn.
    /// - Parameter network: `Network.customerName` of the client.
    /// - Returns: nil when too many pages wait.
    func run(for network: String, _ page: () async -> ParseResponse) async -> ParseResponse? {
        let network = ClientNetwork(network)
        guard await enter(network) else { return nil }
        let response = await page()
        let next = state.withLock { state in
            state.turns.leave(network).flatMap { ticket in state.waiting.removeValue(forKey: ticket) }
        }
        next?.resume(returning: true)
        return response
    }

    private func enter(_ network: ClientNetwork) async -> Bool {
        await withCheckedContinuation { (continuation: CheckedContinuation<Bool, Never>) in
            // The entry and the continuation are stored under one lock: else the turn could come between them.
            let (isIn, refused) = state.withLock { state -> (Bool?, CheckedContinuation<Bool, Never>?) in
                switch state.turns.enter(network) {
                case .goesOn: return (true, nil)
                case .full: return (false, nil)
                case .waits(let ticket):
                    state.waiting[ticket] = continuation
                    return (nil, nil)
                case .replaces(let ticket, let other):
                    state.waiting[ticket] = continuation
                    return (nil, state.waiting.removeValue(forKey: other))
                }
            }
            refused?.resume(returning: false)
            if let isIn { continuation.resume(returning: isIn) }
        }
    }
}
