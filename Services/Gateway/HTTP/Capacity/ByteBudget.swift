import NIOCore
import Synchronization

/// A bound for what all requests together hold in memory, of one kind: bodies on their way in, or answers on their way
/// out.
final class ByteBudget: Sendable {
    private let shares: Mutex<ByteShares>

    init(_ shares: sending ByteShares) { self.shares = Mutex(shares) }

    /// - Parameter connection: over which the answer goes, when it is one.
    func hold(for holder: ByteShares.Holder, over connection: (any Channel)? = nil) -> ByteHold {
        ByteHold(self, holder, connection)
    }

    fileprivate func take(_ bytes: Int, for holder: ByteShares.Holder) -> Bool {
        shares.withLock { $0.take(bytes, for: holder) }
    }

    fileprivate func hasRoom(for bytes: Int, _ holder: ByteShares.Holder) -> Bool {
        shares.withLock { $0.hasRoom(for: bytes, holder) }
    }

    fileprivate func force(_ bytes: Int, for holder: ByteShares.Holder) {
        shares.withLock { $0.force(bytes, for: holder) }
    }

    fileprivate func giveBack(_ bytes: Int, of holder: ByteShares.Holder) {
        shares.withLock { $0.giveBack(bytes, of: holder) }
    }
}

/// One request's part of a budget; given back when the last who needs the bytes lets go of it.
final class ByteHold: Sendable {
    let budget: ByteBudget
    let holder: ByteShares.Holder
    /// How large one more answer may be, where it is a part of a larger one that has a bound of its own; else nil.
    let answerBytesMax: Int?
    private let connection: (any Channel)?
    private let isChanging = Atomic(false)
    private let bytes = Mutex(0)

    fileprivate init(
        _ budget: ByteBudget, _ holder: ByteShares.Holder, _ connection: (any Channel)?, answerBytesMax: Int? = nil
    ) {
        self.budget = budget
        self.holder = holder
        self.connection = connection
        self.answerBytesMax = answerBytesMax
    }

    /// Whether nobody waits for the answer any more, and nothing was changed that must be brought to its end.
    var isAbandoned: Bool { connection?.isActive == false && !isChanging.load(ordering: .relaxed) }

    /// A change is asked for: what is read from now on belongs to it, such as what webhooks are told afterwards.
    func changes() { isChanging.store(true, ordering: .relaxed) }

    /// Another one of the same holder, for a part of the answer.
    /// - Parameter answerBytesMax: the bytes that are left of the whole answer's bound, where it has one.
    func part(answerBytesMax: Int? = nil) -> ByteHold {
        ByteHold(budget, holder, connection, answerBytesMax: answerBytesMax)
    }

    deinit {
        let bytes = bytes.withLock { $0 }
        if bytes > 0 { budget.giveBack(bytes, of: holder) }
    }

    /// False when there is no room.
    func take(_ count: Int) -> Bool {
        guard budget.take(count, for: holder) else { return false }
        bytes.withLock { $0 += count }
        return true
    }

    func force(_ count: Int) {
        budget.force(count, for: holder)
        bytes.withLock { $0 += count }
    }

    /// Whether `take` would take so many now.
    func hasRoom(for count: Int) -> Bool { budget.hasRoom(for: count, holder) }

    /// Gives back what was taken and is not needed any more.
    func release(_ count: Int) {
        guard count > 0 else { return }
        bytes.withLock { $0 -= count }
        budget.giveBack(count, of: holder)
    }
}
