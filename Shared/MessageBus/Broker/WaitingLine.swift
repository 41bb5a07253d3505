import DequeModule
import Messages

/// Requests that wait for a lane of one service, in an order that is fair between clients: whoever sends many waits
/// behind others' first ones (start-time fair queueing with equal weights; Goyal, Vin, Cheng 1996).
struct WaitingLine {
    /// The client that a request waits for: 0 for ourselves and the operator, who have no share that could be used up.
    typealias Client = Int

    private struct Item {
        let correlation: UInt64
        let client: Client
        let turn: Int
    }

    private var items: Deque<Item> = []
    private var lastTurns: [Client: Int] = [:]
    private var counts: [Client: Int] = [:]
    /// The turn of the last one taken; a client that comes anew starts there and not before.
    private var turn = 0

    var count: Int { items.count }
    var isEmpty: Bool { items.isEmpty }
    func count(of client: Client) -> Int { counts[client] ?? 0 }

    /// Adds a request behind the others of its client.
    mutating func append(_ correlation: UInt64, of client: Client) {
        let own = max(turn, lastTurns[client] ?? 0) + 1
        lastTurns[client] = own
        counts[client, default: 0] += 1
        var place = items.endIndex
        while place > items.startIndex, items[place - 1].turn > own { place -= 1 }
        items.insert(Item(correlation: correlation, client: client, turn: own), at: place)
    }

    /// Puts a request that already had its turn before all others.
    mutating func prepend(_ correlation: UInt64, of client: Client) {
        counts[client, default: 0] += 1
        items.prepend(Item(correlation: correlation, client: client, turn: turn))
    }

    mutating func remove(_ correlation: UInt64) {
        guard let place = items.firstIndex(where: { $0.correlation == correlation }) else { return }
        left(items.remove(at: place))
    }

    /// Goes through the line in order and removes those that `take` takes, until it says stop.
    mutating func takeInOrder(_ take: (UInt64) -> Decision) {
        var kept: Deque<Item> = []
        while let item = items.popFirst() {
            let decision = take(item.correlation)
            if decision == .taken {
                turn = max(turn, item.turn)
                left(item)
                continue
            }
            kept.append(item)
            if decision == .stop { break }
        }
        for item in kept.reversed() { items.prepend(item) }
        if items.isEmpty { lastTurns = [:] }
    }

    enum Decision { case taken, kept, stop }

    private mutating func left(_ item: Item) {
        guard let count = counts[item.client] else { return }
        counts[item.client] = count > 1 ? count - 1 : nil
    }
}

extension Principal {
    /// The client that shares are counted by: a signed-up user at an address, or everybody else at an address together
    /// (an anonymous user costs nothing to make); 0 for the operator and for ourselves.
    package var shareholder: Int {
        if master || network.isEmpty { return 0 }
        var hasher = Hasher()
        hasher.combine(network)
        if !anonymous { hasher.combine(userID) }
        return hasher.finalize() | 1
    }
}
