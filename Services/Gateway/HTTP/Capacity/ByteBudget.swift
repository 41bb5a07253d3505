import NIOCore
import Synchronization

/// A limit on the memory that all requests together hold, of one kind: request bodies, or replies and responses.
final class ByteBudget: Sendable {
    private let shares: Mutex<ByteShares>

    init(_ shares: sending ByteShares) { self.shares = Mutex(shares) }

    /// - Parameter connection: the client's connection; nil for a body.
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

/// One request's reservation of memory from a budget. It gives the bytes back when its last reference goes.
final class ByteHold: Sendable {
    let budget: ByteBudget
    let holder: ByteShares.Holder
    /// In a batch: the bytes of the batch's limit that are left for this response. Otherwise nil.
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

    /// Whether the client has gone, and no change is under way that must be completed.
    var isAbandoned: Bool { connection?.isActive == false && !isChanging.load(ordering: .relaxed) }

    /// Marks a change as under way. Later reads belong to it, such as those for webhooks after the change.
    func markChanging() { isChanging.store(true, ordering: .relaxed) }

    /// Another hold of the same client, for a part of the response.
    /// - Parameter answerBytesMax: the bytes that are left of the whole response's limit, where it has one.
    func part(answerBytesMax: Int? = nil) -> ByteHold {
        ByteHold(budget, holder, connection, answerBytesMax: answerBytesMax)
    }

    deinit {
        let bytes = bytes.withLock { $0 }
        if bytes > 0 { budget.giveBack(bytes, of: holder) }
    }

    /// Takes bytes; false when the budget has no room for them.
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

    /// Gives bytes back that are no longer needed.
    func release(_ count: Int) {
        guard count > 0 else { return }
        bytes.withLock { $0 -= count }
        budget.giveBack(count, of: holder)
    }
}
