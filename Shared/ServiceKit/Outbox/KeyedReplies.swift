import Cryptography
import Foundation
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import SwiftProtobuf

/// Makes writes repeatable. The reply to a request is stored under its idempotency key in the transaction of the
/// change, and a repetition gets the same bytes without changing anything.
public enum KeyedReplies {
    /// Requests are repeated within their deadline (10 s) when a replica dies; a minute is enough for slow hosts.
    private static let keptForRequests = Duration.seconds(60)
    /// An outbox retries for days while the receiver is down.
    private static let keptForDeliveries = Duration.seconds(30 * 86_400)
    /// A client may repeat a write with an `Idempotency-Key` for a day, which begins before the write runs.
    private static let keptForClients = Duration.seconds(25 * 3600)
    private static let pruneRowsMax = 1000

    /// A table of replies with its statements, which most writes need.
    private struct Table {
        let name: String
        let find: String
        let add: String

        init(_ name: String) {
            self.name = name
            find = "SELECT reply FROM \(name) WHERE key = ?"
            add = "INSERT INTO \(name)(key, keptSince, reply) VALUES (?, ?, ?)"
        }

        static let ofRequests = Table("keyedReplies")
        static let ofDeliveries = Table("deliveredReplies")
        static let ofClients = Table("clientReplies")
    }

    /// Prefix of the keys of outbox rows. Their replies are kept longer than replies to other requests.
    static let outboxPrefix = "outbox:"

    /// Where the reply to a request is stored.
    private struct Place {
        let table: Table
        let key: String
        let seal: ReplySeal?

        init(_ key: String, _ seal: ReplySeal?) {
            guard key.hasPrefix(BusRequest.clientKeyPrefix) else {
                table = key.hasPrefix(KeyedReplies.outboxPrefix) ? .ofDeliveries : .ofRequests
                (self.key, self.seal) = (key, seal)
                return
            }
            // These hold customers' data and outlive the accounts. Only a repetition brings the key that opens them.
            table = .ofClients
            self.key = SHA256.hash(data: Array("name \(key)".utf8)).hex
            self.seal = ReplySeal(secret: SHA256.hash(data: Array("reply \(key)".utf8)))
        }
    }

    /// Runs `work` unless a request with the same key was answered before.
    /// - Parameter seal: encrypts stored replies; those to clients' keys are always encrypted.
    public static func once(
        _ request: ServiceRequest, _ seal: ReplySeal?, in transaction: StoreTransaction,
        _ work: (StoreTransaction) throws -> BusReply
    ) throws -> BusReply {
        let key = request.envelope.idempotencyKey
        guard !key.isEmpty else { return try work(transaction) }
        let place = Place(key, seal)
        if let first = try opened(place, transaction) { return first }
        let reply = try work(transaction)
        let stored = try place.seal?.seal(encode(reply), place.key) ?? encode(reply)
        // A client decides how many of these are stored for a day.
        if request.hasClientKey { try transaction.quotas.take(stored.count, of: .objectBytes, by: request.caller) }
        _ = try transaction.execute(
            place.table.add, [.text(place.key), .int(transaction.now.milliseconds), .blob(stored)])
        return reply
    }

    /// The stored reply to a repetition; nil for a request that was not answered or has no key.
    static func stored(_ request: ServiceRequest, _ seal: ReplySeal?, _ reader: ObjectReader) throws -> BusReply? {
        let key = request.envelope.idempotencyKey
        return key.isEmpty ? nil : try opened(Place(key, seal), reader)
    }

    private static func opened(_ place: Place, _ reader: ObjectReader) throws -> BusReply? {
        guard let kept = try reader.rows(place.table.find, [.text(place.key)]).first?.blob("reply") else { return nil }
        // A reply that cannot be opened was stored unencrypted by an earlier release.
        return try decode(place.seal?.open(kept, place.key) ?? kept)
    }

    /// Whether a request with the key was answered.
    static func isStored(_ key: String, in transaction: StoreTransaction) throws -> Bool {
        let place = Place(key, nil)
        return try !transaction.rows(place.table.find, [.text(place.key)]).isEmpty
    }

    /// Lets the next request with the key run again.
    static func remove(_ key: String, in transaction: StoreTransaction) throws {
        let place = Place(key, nil)
        try transaction.execute("DELETE FROM \(place.table.name) WHERE key = ?", [.text(place.key)])
    }

    /// Removes replies whose keys can no longer be repeated; true when there may be more of them.
    package static func prune(_ transaction: StoreTransaction) throws -> Bool {
        var areLeft = false
        let tables: [(Table, Duration)] = [
            (.ofRequests, keptForRequests), (.ofDeliveries, keptForDeliveries), (.ofClients, keptForClients),
        ]
        for (table, kept) in tables {
            let oldest = transaction.now.milliseconds - kept.milliseconds
            if try transaction.removeExpired(from: table.name, before: oldest, rowsMax: pruneRowsMax) { areLeft = true }
        }
        return areLeft
    }

    /// A stored reply: the frames, each preceded by its length.
    private static func encode(_ reply: BusReply) throws -> [UInt8] {
        let forget = try reply.forget?.serializedBytes() ?? [UInt8]()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(
            reply.documents.reduce(forget.count + reply.body.count + 8) { $0 + $1.count + 4 })
        func add(_ frame: [UInt8]) {
            withUnsafeBytes(of: UInt32(frame.count).littleEndian) { bytes.append(contentsOf: $0) }
            bytes.append(contentsOf: frame)
        }
        add(forget)
        add(reply.body)
        for document in reply.documents { add(document) }
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

extension StoreTransaction {
    /// Removes rows that have expired. Rows with a time in the future go once a later row has expired: their clock was
    /// wrong, and they would stay until that year. They do not go earlier: a client may still repeat a write of that
    /// day.
    /// - Parameter oldest: a row has expired when its `keptSince` is not after it.
    /// - Returns: whether there may be more.
    package func removeExpired(from table: String, before oldest: Int64, rowsMax: Int) throws -> Bool {
        let time = now.milliseconds
        // Rows of less than one lifetime ahead expire soon: the clock of another replica may be ahead by seconds.
        let parameters: [SQLValue] = [.int(time), .int(Int64(rowsMax)), .int(oldest), .int(time + (time - oldest))]
        // Ids increase with time. Rows of the future must not hide the others.
        let ofTheFuture = try execute(
            """
            DELETE FROM \(table) WHERE keptSince > ?4 AND id IN (SELECT id FROM \(table) ORDER BY id LIMIT ?2)
            AND id < (SELECT max(known.id) FROM (SELECT id, keptSince FROM \(table) WHERE keptSince <= ?1
            ORDER BY id LIMIT ?2) AS known WHERE known.keptSince <= ?3)
            """, parameters)
        // Expired rows after one of the future stay, because they prove that it may go.
        let expired = try execute(
            """
            DELETE FROM \(table) WHERE keptSince <= ?3
            AND id IN (SELECT id FROM \(table) WHERE keptSince <= ?1 ORDER BY id LIMIT ?2)
            AND id < coalesce((SELECT min(head.id) FROM (SELECT id, keptSince FROM \(table)
            ORDER BY id LIMIT ?2) AS head WHERE head.keptSince > ?4), \(Int64.max))
            """, parameters)
        return ofTheFuture + expired >= rowsMax
    }
}

/// The encryption of stored replies.
public struct ReplySeal: Sendable {
    let seal: @Sendable (_ reply: [UInt8], _ key: String) throws -> [UInt8]
    let open: @Sendable (_ sealed: [UInt8], _ key: String) -> [UInt8]?

    /// - Parameters:
    ///   - seal: encrypts a reply for the idempotency key it is stored under.
    ///   - open: decrypts; nil for bytes that `seal` did not produce.
    public init(
        seal: @escaping @Sendable (_ reply: [UInt8], _ key: String) throws -> [UInt8],
        open: @escaping @Sendable (_ sealed: [UInt8], _ key: String) -> [UInt8]?
    ) {
        self.seal = seal
        self.open = open
    }

    /// - Parameter secret: 32 bytes that seal one reply.
    fileprivate init(secret: Digest) {
        let secret = SymmetricKey(data: secret)
        self.init(
            seal: { reply, key in try AES.GCM.seal(reply, using: secret, authenticating: key.utf8).combined },
            open: { sealed, key in
                guard let box = try? AES.GCM.SealedBox(combined: sealed) else { return nil }
                return try? AES.GCM.open(box, using: secret, authenticating: key.utf8)
            })
    }
}
