import DequeModule
import Messages
import ParseProtocol

/// The queue of requests that wait for a lane of one service. It is fair between clients: a client with many requests
/// waits behind the first requests of others (start-time fair queueing; Goyal, Vin, Cheng 1996). Networks have equal
/// weights, and the clients of a network share its weight.
struct FairQueue {
    /// The client that sent a request.
    struct Client: Hashable {
        /// `Principal.fairnessKey`: 0 for Satchel itself and the operator, who have no limit.
        let id: Int
        /// Nil for id 0.
        let network: ClientNetwork?
    }

    private struct Item {
        let correlation: UInt64
        let client: Client
        let turn: Int
    }

    private var items: Deque<Item> = []
    private var lastTurns: [Client: Int] = [:]
    private var counts: [Client: Int] = [:]
    /// Queued requests and clients by network.
    private var requests: NetworkAmounts
    private var clients = NetworkAmounts(nearLimit: 1 << 20, total: 1 << 22)
    /// The virtual time: the turn of the last request taken. A new client starts at it.
    private var turn = 0

    /// - Parameters:
    ///   - perNetwork: limit of requests per near network.
    ///   - total: limit of all requests.
    init(perNetwork: Int, total: Int) { requests = NetworkAmounts(nearLimit: perNetwork, total: total) }

    var count: Int { items.count }
    /// Whether the client's network may queue another request.
    func hasRoom(for client: Client) -> Bool { client.network.map { requests.hasRoom($0) } ?? true }
    var isEmpty: Bool { items.isEmpty }
    func count(of client: Client) -> Int { counts[client] ?? 0 }

    /// Adds a request behind the client's other requests.
    mutating func append(_ correlation: UInt64, of client: Client) {
        entered(client)
        let share = client.network.map { clients.amount(of: $0) } ?? 1
        let own = max(turn, lastTurns[client] ?? 0) + max(1, share)
        lastTurns[client] = own
        var place = items.endIndex
        while place > items.startIndex, items[place - 1].turn > own { place -= 1 }
        items.insert(Item(correlation: correlation, client: client, turn: own), at: place)
    }

    /// Puts a request at the front, because it was sent before.
    mutating func prepend(_ correlation: UInt64, of client: Client) {
        entered(client)
        items.prepend(Item(correlation: correlation, client: client, turn: turn))
    }

    mutating func remove(_ correlation: UInt64) {
        guard let place = items.firstIndex(where: { $0.correlation == correlation }) else { return }
        left(items.remove(at: place))
    }

    /// Iterates in order and removes the requests that `take` takes, until it says stop.
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

    private mutating func entered(_ client: Client) {
        counts[client, default: 0] += 1
        guard let network = client.network else { return }
        requests.add(1, of: network)
        if counts[client] == 1 { clients.add(1, of: network) }
    }

    private mutating func left(_ item: Item) {
        guard let count = counts[item.client] else { return }
        counts[item.client] = count > 1 ? count - 1 : nil
        guard let network = item.client.network else { return }
        requests.add(-1, of: network)
        if count == 1 { clients.add(-1, of: network) }
    }
}

extension Principal {
    /// The client for fair queueing and limits: a signed-up user at an address, or all other clients of an address
    /// together, because anonymous users cost nothing to create. 0 for the operator and for Satchel itself.
    package var fairnessKey: Int {
        if master || network.isEmpty { return 0 }
        var hasher = Hasher()
        hasher.combine(network)
        if !anonymous { hasher.combine(userID) }
        return hasher.finalize() | 1
    }
}
