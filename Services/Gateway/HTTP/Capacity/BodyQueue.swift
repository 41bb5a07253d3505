import ParseProtocol

/// A fair queue of large bodies, with a bound on the processor time that they take. No I/O; `BodyScheduler` shares one
/// between requests.
///
/// A body costs time before anything in it can be refused. When large bodies have used their share of the processors,
/// the network that used least lately goes first: a customer with one large save passes clients that send many.
package struct BodyQueue {
    package typealias Ticket = UInt64

    package enum Entry: Equatable {
        /// The gateway may decode the body.
        case ready
        case waits(Ticket)
        /// Too many bodies wait already, of all networks or of this one.
        case full
    }

    /// Bodies up to this size never wait: nearly all bodies of apps.
    package static let quickBytes = 16 << 10
    package static let waitingMax = 256
    /// Waiting bodies of one IPv4 address or one IPv6 /64, which is the near level of `ClientNetwork`.
    package static let waitingPerNetworkMax = 32
    /// Nanoseconds after which a waiting body is refused: clients do not wait much longer.
    package static let patience: UInt64 = 5_000_000_000
    /// Nanoseconds of work that may be admitted at once. A wait of that length is not noticeable.
    private static let burst: UInt64 = 100_000_000

    private struct Item {
        let ticket: Ticket
        let network: ClientNetwork
        let work: UInt64
        let since: UInt64
    }

    private let share: Double
    private var waiting: [Item] = []
    /// Nanoseconds that the bodies of each network used.
    private var usage = NetworkUse()
    private var amounts = NetworkAmounts(nearLimit: waitingPerNetworkMax, total: waitingMax)
    private var lastTicket: Ticket = 0
    /// The time at which all admitted bodies are done.
    private var idleAt: UInt64 = 0

    /// - Parameter share: of one processor, above 0; more than 1 on several processors.
    package init(share: Double) { self.share = share }

    package var isEmpty: Bool { waiting.isEmpty }

    /// Adds a body.
    /// - Parameter work: the estimated work in nanoseconds (`work(for:)`).
    package mutating func enter(_ network: String, work: UInt64, now: UInt64) -> Entry {
        let network = ClientNetwork(network)
        if waiting.isEmpty, isFree(now) {
            begin(network, work, now)
            return .ready
        }
        guard waiting.count < Self.waitingMax, amounts.hasRoom(network) else { return .full }
        amounts.add(1, of: network)
        lastTicket += 1
        waiting.append(Item(ticket: lastTicket, network: network, work: work, since: now))
        return .waits(lastTicket)
    }

    /// The next body that stops waiting: `isReady` when the gateway may decode it, else it waited too long.
    package mutating func next(now: UInt64) -> (ticket: Ticket, isReady: Bool)? {
        // In the order of arrival.
        if let first = waiting.first, now &- first.since > Self.patience, now > first.since {
            return (remove(at: 0).ticket, false)
        }
        guard isFree(now) else { return nil }
        var best: (index: Int, amount: Double)?
        for (index, item) in waiting.enumerated() {
            let amount = usage.amount(of: item.network, at: now)
            if best.map({ amount < $0.amount }) ?? true { best = (index, amount) }
        }
        guard let best else { return nil }
        let item = remove(at: best.index)
        begin(item.network, item.work, now)
        return (item.ticket, true)
    }

    /// Nanoseconds until `next` may have another result.
    package func pause(now: UInt64) -> UInt64 {
        let turn = idleAt > now &+ Self.burst ? idleAt - now - Self.burst : 0
        let end = waiting.first.map { $0.since &+ Self.patience }.map { $0 > now ? $0 - now : 0 } ?? Self.patience
        return max(1_000_000, min(turn, end))
    }

    private func isFree(_ now: UInt64) -> Bool { idleAt <= now &+ Self.burst }

    private mutating func remove(at index: Int) -> Item {
        let item = waiting.remove(at: index)
        amounts.add(-1, of: item.network)
        return item
    }

    private mutating func begin(_ network: ClientNetwork, _ work: UInt64, _ now: UInt64) {
        idleAt = max(idleAt, now) &+ UInt64(Double(work) / share)
        usage.add(work, to: network, at: now)
    }
}

extension BodyQueue {
    /// The estimated work for a JSON body in nanoseconds. A text or element costs 125 times as much as a byte,
    /// because it is parsed, hashed, stored and serialized, here and at the service. One long text costs little, twenty
    /// thousand elements of a list cost much.
    package static func work(for body: [UInt8]) -> UInt64 {
        var values = 0, isText = false, isEscaped = false
        for byte in body {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\"") {
                isText.toggle()
                values &+= 1
            } else if isText {
                isEscaped = byte == UInt8(ascii: "\\")
            } else if byte == UInt8(ascii: ",") {
                values &+= 1
            }
        }
        return UInt64(body.count) * 4 + UInt64(values) * 500
    }

    /// Nanoseconds in which zlib inflates so many bytes.
    package static func work(toInflate bytes: Int) -> UInt64 { UInt64(bytes) * 3 }
}
