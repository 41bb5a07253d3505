import ParseProtocol

/// In which order large bodies are worked on, and how much of the time. Pure; `BodyGate` shares one between requests.
///
/// A body costs time before anything in it can be refused. Past their share of the processors whoever sent least lately
/// comes first, so that a customer with one large save passes those who send nothing else.
package struct BodyTurns {
    package typealias Ticket = UInt64

    package enum Entry: Equatable {
        case goesOn
        case waits(Ticket)
        /// Too many wait already, of all or of this network.
        case full
    }

    /// Bodies up to this size are worked on at once: nearly all that apps send.
    package static let quickBytes = 16 << 10
    package static let waitingMax = 256
    package static let waitingPerNetworkMax = 32
    /// Nanoseconds after which a body that still waits is refused: a client does not wait much longer either.
    package static let patience: UInt64 = 5_000_000_000
    /// Nanoseconds of the share that may be used at once after quiet times: what nobody notices who waits meanwhile.
    private static let burst: UInt64 = 100_000_000

    private struct Item {
        let ticket: Ticket
        let network: String
        let work: UInt64
        let since: UInt64
    }

    private let share: Double
    private var waiting: [Item] = []
    /// Nanoseconds that the bodies of each network took.
    private var usage = FadingUse<String>()
    private var lastTicket: Ticket = 0
    /// The moment at which all that was let through is worked off.
    private var idleAt: UInt64 = 0

    /// - Parameter share: of one processor, above 0; more than 1 where there are more.
    package init(share: Double) { self.share = share }

    package var isEmpty: Bool { waiting.isEmpty }

    /// - Parameter work: nanoseconds that the body will take, as far as that is known (`work(for:)`).
    package mutating func enter(_ network: String, work: UInt64, now: UInt64) -> Entry {
        if waiting.isEmpty, hasTurn(now) {
            begin(network, work, now)
            return .goesOn
        }
        guard waiting.count < Self.waitingMax,
            waiting.count(where: { $0.network == network }) < Self.waitingPerNetworkMax
        else { return .full }
        lastTicket += 1
        waiting.append(Item(ticket: lastTicket, network: network, work: work, since: now))
        return .waits(lastTicket)
    }

    /// The next one that waits no more: because it is its turn, or because it waited for too long.
    package mutating func next(now: UInt64) -> (ticket: Ticket, isTurn: Bool)? {
        // They stand in the order in which they came.
        if let first = waiting.first, now &- first.since > Self.patience, now > first.since {
            return (waiting.removeFirst().ticket, false)
        }
        guard hasTurn(now) else { return nil }
        var best: (place: Int, amount: Double)?
        for (place, item) in waiting.enumerated() {
            let amount = usage.amount(of: item.network, at: now)
            if best.map({ amount < $0.amount }) ?? true { best = (place, amount) }
        }
        guard let best else { return nil }
        let item = waiting.remove(at: best.place)
        begin(item.network, item.work, now)
        return (item.ticket, true)
    }

    /// Nanoseconds until `next` can say something new.
    package func pause(now: UInt64) -> UInt64 {
        let turn = idleAt > now &+ Self.burst ? idleAt - now - Self.burst : 0
        let end = waiting.first.map { $0.since &+ Self.patience }.map { $0 > now ? $0 - now : 0 } ?? Self.patience
        return max(1_000_000, min(turn, end))
    }

    private func hasTurn(_ now: UInt64) -> Bool { idleAt <= now &+ Self.burst }

    private mutating func begin(_ network: String, _ work: UInt64, _ now: UInt64) {
        idleAt = max(idleAt, now) &+ UInt64(Double(work) / share)
        usage.add(work, to: network, at: now)
    }
}

extension BodyTurns {
    /// Nanoseconds that a JSON body takes in all: a byte some, and each text a hundred times as much, because it is
    /// read, hashed, kept and written again, here and at the service. Names in one long text cost little, twenty
    /// thousand texts in a list cost much.
    package static func work(for body: [UInt8]) -> UInt64 {
        let quotes = body.reduce(into: 0) { $0 &+= $1 == UInt8(ascii: "\"") ? 1 : 0 }
        return UInt64(body.count) * 4 + UInt64(quotes) * 500
    }
}
