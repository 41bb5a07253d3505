import Foundation
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import SwiftProtobuf

/// Makes writes repeatable: the answer to a request is kept under its idempotency key in the same transaction as the
/// change, and a repetition gets that answer, byte for byte, without changing anything.
public enum KeyedReplies {
    /// A request is repeated within its deadline (10 s) when a replica dies; a minute leaves room for slow hosts.
    private static let keptForRequests = Duration.seconds(60)
    /// An outbox tries for days when the receiver is down.
    private static let keptForDeliveries = Duration.seconds(30 * 86_400)
    private static let pruneRowsMax = 1000

    /// Keys of outbox rows start with this; they are kept longer than those of plain requests.
    static let outboxPrefix = "outbox:"

    /// Runs `work` unless a request with the same key was answered before.
    /// - Parameter seal: encrypts what is kept.
    public static func once(
        _ request: ServiceRequest, _ seal: ReplySeal?, in transaction: StoreTransaction,
        _ work: (StoreTransaction) throws -> BusReply
    ) throws -> BusReply {
        let key = request.envelope.idempotencyKey
        guard !key.isEmpty else { return try work(transaction) }
        let table = key.hasPrefix(outboxPrefix) ? "deliveredReplies" : "keyedReplies"
        if let kept = try transaction.rows("SELECT reply FROM \(table) WHERE key = ?", [.text(key)]).first?.blob(
            "reply")
        {
            // What cannot be opened was kept by an earlier release, as it is.
            return try decode(seal?.open(kept, key) ?? kept)
        }
        let reply = try work(transaction)
        _ = try transaction.execute(
            "INSERT INTO \(table)(key, keptSince, reply) VALUES (?, ?, ?)",
            [
                .text(key), .int(transaction.now.milliseconds),
                .blob(try seal?.seal(encode(reply), key) ?? encode(reply)),
            ])
        return reply
    }

    /// Removes answers that nobody can ask for any more; true when there may be more of them.
    package static func prune(_ transaction: StoreTransaction) throws -> Bool {
        var removed = 0
        for (table, kept) in [("keyedReplies", keptForRequests), ("deliveredReplies", keptForDeliveries)] {
            removed = max(
                removed,
                try transaction.execute(
                    "DELETE FROM \(table) WHERE id IN (SELECT id FROM \(table) ORDER BY id LIMIT ?) AND keptSince < ?",
                    [.int(Int64(pruneRowsMax)), .int(transaction.now.milliseconds - kept.milliseconds)]))
        }
        return removed == pruneRowsMax
    }

    /// A reply as it is kept: the frames, each after its length.
    private static func encode(_ reply: BusReply) throws -> [UInt8] {
        let forget = try reply.forget?.serializedBytes() ?? [UInt8]()
        var bytes: [UInt8] = []
        for frame in [forget, reply.body] + reply.documents {
            withUnsafeBytes(of: UInt32(frame.count).littleEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: frame)
        }
        return bytes
    }

    private static func decode(_ bytes: [UInt8]) throws -> BusReply {
        var frames: [[UInt8]] = []
        var position = 0
        while position + 4 <= bytes.count {
            let count = (0..<4).reduce(0) { $0 | Int(bytes[position + $1]) << (8 * $1) }
            guard position + 4 + count <= bytes.count else { throw ParseError.internalError }
            frames.append(Array(bytes[(position + 4)..<(position + 4 + count)]))
            position += 4 + count
        }
        guard frames.count >= 2 else { throw ParseError.internalError }
        return BusReply(
            body: frames[1], documents: Array(frames.dropFirst(2)),
            forget: frames[0].isEmpty ? nil : try Forget(serializedBytes: frames[0]))
    }
}

/// The encryption of answers that are kept for repetitions.
public struct ReplySeal: Sendable {
    let seal: @Sendable (_ reply: [UInt8], _ key: String) throws -> [UInt8]
    let open: @Sendable (_ sealed: [UInt8], _ key: String) -> [UInt8]?

    /// - Parameters:
    ///   - seal: encrypts an answer for the idempotency key it is kept under.
    ///   - open: nil for what `seal` did not make.
    public init(
        seal: @escaping @Sendable (_ reply: [UInt8], _ key: String) throws -> [UInt8],
        open: @escaping @Sendable (_ sealed: [UInt8], _ key: String) -> [UInt8]?
    ) {
        self.seal = seal
        self.open = open
    }
}
