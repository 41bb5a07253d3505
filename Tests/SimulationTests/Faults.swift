import VirtualThread

/// What may go wrong.
enum Fault: String, CaseIterable, Sendable {
    case lostRequest, doubledRequest, slowRequest, lostReply
    /// The process ends at an await: a request, a read or a job arrives, or an answer leaves.
    case crash
    case crashBeforeCommit, crashAfterCommit
    /// The process stands still for some seconds, for example cut off from the others. Its lease expires meanwhile.
    case stall
    case otherLeader
    /// All clocks jump, so that reservations grow old or expire.
    case jump
    case providerLost, providerSlow, providerReplyLost
    /// The provider does not answer, and carries the request out later.
    case providerLate
    case refundRefused
    case webhookLate, webhookDoubled
    case mailRefused, mailReplyLost
    /// The customer's bank does not take a refund that the provider had accepted.
    case refundReversed
}

/// A bug that is planted outside of the services, to prove that the simulation finds such bugs.
enum Plant: String, CaseIterable, Sendable {
    /// The charge is asked for before the reservation is stored.
    case chargeBeforeReservation = "charge-before-reservation"
    /// Outbox rows are written after the transaction that causes them.
    case outboxOutsideTransaction = "outbox-outside-transaction"
    /// A repeated message arrives under another key.
    case replayUnderAnotherKey = "replay-under-another-key"
}

/// A fault that happened, with the number of its opportunity.
struct Struck: Sendable, Equatable {
    let number: Int
    let fault: Fault
    let milliseconds: UInt64
}

struct Options: Sendable {
    var plant: Plant?
    /// The opportunities at which faults may happen; nil for all. Shrinking takes some away.
    var allowed: Set<Int>?
    /// The customers that shop; nil for the seed's choice.
    var shoppers: [Int]?
    /// Tasks run in the order in which they become ready.
    var isOrderly = false
    var keepsHistory = false
}

/// Decides where faults happen.
final class Weather {
    private var random: SplitMix64
    private var chances: [Fault: Int] = [:]
    private let allowed: Set<Int>?
    private var opportunities = 0
    private(set) var struck: [Struck] = []
    private let now: () -> UInt64
    /// No fault happens any more.
    var isOver = false

    /// - Parameter now: milliseconds since the start.
    init(seed: UInt64, allowed: Set<Int>?, now: @escaping () -> UInt64) {
        random = SplitMix64(seed ^ 0x7765_6174_6865_72)
        self.allowed = allowed
        self.now = now
        // Most seeds have a few kinds of faults, some of them often.
        for fault in Fault.allCases { chances[fault] = [0, 0, 0, 5, 20, 80][random.below(6)] }
        // There are some hundred awaits.
        chances[.crash] = [0, 0, 1, 5][random.below(4)]
        // There are few refunds.
        for fault in [Fault.refundRefused, .refundReversed] { chances[fault] = [0, 0, 200, 400][random.below(4)] }
    }

    /// - Parameter isLate: the fault may also happen after the others are over.
    func strikes(_ fault: Fault, isLate: Bool = false) -> Bool {
        guard !isOver || isLate else { return false }
        opportunities += 1
        guard random.below(1000) < chances[fault, default: 0], allowed?.contains(opportunities) ?? true else {
            return false
        }
        struck.append(Struck(number: opportunities, fault: fault, milliseconds: now()))
        return true
    }
}

extension SplitMix64 {
    /// 0 to `bound` - 1; 0 for a bound of 0.
    mutating func below(_ bound: Int) -> Int { bound <= 1 ? 0 : Int(next() % UInt64(bound)) }
    mutating func chance(_ percent: Int) -> Bool { below(100) < percent }
}
