import Foundation

/// In which order large bodies are worked on, and how many bytes of them a second. Pure; `BodyGate` shares one between requests.
///
/// A body costs time before anything in it can be refused. Past the pace whoever sent least lately comes first, so that a customer with one
/// large save passes those who send nothing else. The operator never waits; strangers and those who are signed in do not wait for each other.
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
    /// Seconds of the pace that may be used at once after quiet times.
    private static let burstSeconds = 1.0
    /// Nanoseconds after which half of what a network sent is forgotten.
    private static let halfLife = 10e9
    private static let networksMax = 4096

    private struct Item {
        let ticket: Ticket
        let network: String
        let bytes: Int
        let since: UInt64
    }

    private struct Sent {
        var bytes: Double
        var at: UInt64

        func amount(at now: UInt64) -> Double { bytes * exp2(-Double(now &- min(at, now)) / BodyTurns.halfLife) }
    }

    private let nanosecondsPerByte: Double
    private var waiting: [Item] = []
    private var sent: [String: Sent] = [:]
    private var lastTicket: Ticket = 0
    /// The moment at which all that was let through is worked off at the pace.
    private var idleAt: UInt64 = 0

    /// - Parameter bytesPerSecond: of all networks together; at least 1.
    package init(bytesPerSecond: Int) { nanosecondsPerByte = 1e9 / Double(max(1, bytesPerSecond)) }

    package var isEmpty: Bool { waiting.isEmpty }

    package mutating func enter(_ network: String, bytes: Int, now: UInt64) -> Entry {
        if waiting.isEmpty, hasTurn(now) {
            begin(network, bytes, now)
            return .goesOn
        }
        guard waiting.count < Self.waitingMax, waiting.count(where: { $0.network == network }) < Self.waitingPerNetworkMax
        else { return .full }
        lastTicket += 1
        waiting.append(Item(ticket: lastTicket, network: network, bytes: bytes, since: now))
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
            let amount = sent[item.network]?.amount(at: now) ?? 0
            if best.map({ amount < $0.amount }) ?? true { best = (place, amount) }
        }
        guard let best else { return nil }
        let item = waiting.remove(at: best.place)
        begin(item.network, item.bytes, now)
        return (item.ticket, true)
    }

    /// Nanoseconds until `next` can say something new.
    package func pause(now: UInt64) -> UInt64 {
        let burst = UInt64(Self.burstSeconds * 1e9)
        let turn = idleAt > now &+ burst ? idleAt - now - burst : 0
        let end = waiting.first.map { $0.since &+ Self.patience }.map { $0 > now ? $0 - now : 0 } ?? Self.patience
        return max(1_000_000, min(turn, end))
    }

    private func hasTurn(_ now: UInt64) -> Bool { idleAt <= now &+ UInt64(Self.burstSeconds * 1e9) }

    private mutating func begin(_ network: String, _ bytes: Int, _ now: UInt64) {
        idleAt = max(idleAt, now) &+ UInt64(Double(bytes) * nanosecondsPerByte)
        if sent.count >= Self.networksMax { sent = sent.filter { $0.value.amount(at: now) > Double(Self.quickBytes) } }
        // Past the bound the heaviest are remembered, whom it is about.
        guard sent.count < Self.networksMax || sent[network] != nil else { return }
        sent[network] = Sent(bytes: (sent[network]?.amount(at: now) ?? 0) + Double(bytes), at: now)
    }
}
