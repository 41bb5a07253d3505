import Logging
import Messages
import ObjectStore
import ParseProtocol
import Synchronization

/// A queue for frequent client reports that are aggregated into a few figures. Where every replica writes, each one
/// stores a report as its own row, which conflicts with no other change, and the leader counts the rows. With a single
/// writer the report is counted at once.
///
/// A report is acknowledged when its row is stored. It appears in the figures within a moment (`ServiceHost.pause`). It
/// counts exactly once: the transaction that counts a row also deletes it.
public struct Inbox: Sendable {
    /// A report.
    public struct Item: Sendable {
        /// The kind of report, defined by the receiver.
        public let kind: String
        /// The data to count, encoded by the receiver.
        public let body: [UInt8]
        /// The signed-in user and the installation, without any rights.
        public let caller: Caller
        /// The time of receipt.
        public let receivedAt: Timestamp

        /// A report of `caller`.
        public init(_ kind: String, _ body: [UInt8], by caller: Caller, at receivedAt: Timestamp) {
            self.kind = kind
            self.body = body
            self.caller = Caller(userId: caller.userId, installationId: caller.installationId)
            self.receivedAt = receivedAt
        }

        fileprivate init(_ row: SQLRow) throws {
            try self.init(
                row.text("kind"), row.blob("body"),
                by: Caller(userId: row["userId"].textValue, installationId: row["installationId"].textValue),
                at: Timestamp(milliseconds: row.int("receivedAt")))
        }
    }

    /// Counts a report. For a report of `add`, any error that it would throw must have been thrown before the report
    /// was stored.
    public typealias Count = @Sendable (_ item: Item, _ transaction: StoreTransaction) throws -> Void

    /// Rows counted per transaction, which takes some tens of milliseconds.
    private static let countedAtOnce = 200
    /// Limit of uncounted reports, so that a slow leader does not fill the disk. Beyond it clients are asked to retry
    /// later.
    private static let waitingMax: Int64 = 100_000

    private let store: ClassStore
    /// Whether reports are stored and counted later.
    public let waits: Bool
    private let logger: Logger
    private let count: Count
    private let room = Room()

    /// Whether there is room for more reports, as of the last check. A check in the transaction of each report would
    /// make those transactions conflict.
    private final class Room: Sendable {
        let isThere = Atomic(true)
    }

    /// An inbox that starts with the service. Called once, while the service is built.
    public init(_ host: ServiceHost, count: @escaping Count) {
        store = host.store
        waits = host.writers == .every
        logger = host.logger
        self.count = count
        // Runs also with a single writer, to count rows that were stored while every replica wrote.
        host.whenWriter("inbox", every: host.pollInterval(.seconds(10)), problem: "Reports could not be counted.") {
            [self] in
            let isAny = try await store.read(for: nil) {
                try !$0.rows("SELECT 1 AS found FROM inbox LIMIT 1", []).isEmpty
            }
            guard isAny else { return .idle }
            return try await store.write(for: nil) { try countSome(in: $0) } ? .more : .idle
        }
        guard waits else { return }
        host.whenWriting("inbox.room", every: .seconds(1), problem: "The reports that wait could not be counted.") {
            [store, room] in
            let waiting = try await store.read(for: nil) { reader in
                try reader.rows("SELECT coalesce(max(id) - min(id), 0) AS waiting FROM inbox", []).first?.int("waiting")
            }
            room.isThere.store(waiting ?? 0 < Self.waitingMax, ordering: .relaxed)
            return .idle
        }
    }

    /// Accepts a report.
    /// - Throws: errors of counting when it is counted at once; `.serviceUnavailable` (2) when the queue is full.
    public func add(_ item: Item, in transaction: StoreTransaction) throws {
        guard waits else { return try count(item, transaction) }
        guard room.isThere.load(ordering: .relaxed) else {
            throw ParseError(.serviceUnavailable, "Too many reports are waiting. Try again later.")
        }
        _ = try transaction.execute(
            "INSERT INTO inbox(kind, body, userId, installationId, receivedAt) VALUES (?, ?, ?, ?, ?)",
            [
                .text(item.kind), .blob(item.body), item.caller.userId.map(SQLValue.text) ?? .null,
                item.caller.installationId.map(SQLValue.text) ?? .null, .int(item.receivedAt.milliseconds),
            ])
    }

    /// Counts a user's stored reports, so that a following change of that user's figures includes them. Reports of
    /// other users remain queued.
    public func settle(_ userId: String, in transaction: StoreTransaction) throws {
        while try countSome(of: userId, in: transaction) {}
    }

    /// - Returns: whether there may be more.
    private func countSome(of userId: String? = nil, in transaction: StoreTransaction) throws -> Bool {
        let rows = try transaction.rows(
            """
            SELECT id, kind, body, userId, installationId, receivedAt FROM inbox
            \(userId == nil ? "" : "WHERE userId = ?2") ORDER BY id LIMIT ?1
            """, [.int(Int64(Self.countedAtOnce))] + (userId.map { [.text($0)] } ?? []))
        for row in rows {
            do {
                try transaction.nested { try count(Item(row), transaction) }
            } catch let error as ParseError {
                // This service did not store such a report; keeping it would block all others.
                logger.error("A report cannot be counted.", metadata: ["error": "\(error)"])
            }
            _ = try transaction.execute("DELETE FROM inbox WHERE id = ?", [row["id"]])
        }
        return rows.count == Self.countedAtOnce
    }
}
