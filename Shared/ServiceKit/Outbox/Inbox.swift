import Logging
import Messages
import ObjectStore
import ParseProtocol
import Synchronization

/// What clients report in masses and what is added up to few figures: where every replica writes, each stores what it
/// takes as a row of its own, which no other change overtakes, and the one that leads counts the rows. Where one writes
/// it counts at once.
///
/// A report was answered when its row is stored. It is in the figures within a moment (`ServiceHost.pause`), and counts
/// once: its row goes in the transaction that counts it.
public struct Inbox: Sendable {
    /// A report.
    public struct Item: Sendable {
        /// The kind of report, which its receiver names.
        public let kind: String
        /// What there is to count, as the receiver wrote it.
        public let body: [UInt8]
        /// The signed-in user and the installation, without any right.
        public let caller: Caller
        /// When it came.
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

    /// Counts a report. What it throws for a report of `add` must have been thrown before the report was stored.
    public typealias Count = @Sendable (_ item: Item, _ transaction: StoreTransaction) throws -> Void

    /// Rows counted in one transaction: some tens of milliseconds.
    private static let countedAtOnce = 200
    /// Reports that may wait, so that a replica which does not keep up with them fills no disk: whoever sends more is
    /// told to come again.
    private static let waitingMax: Int64 = 100_000

    private let store: ClassStore
    /// Whether what is added is counted later.
    public let waits: Bool
    private let logger: Logger
    private let count: Count
    private let room = Room()

    /// Whether there is room for more, as it was a moment ago: to look in the transaction of each report would have all
    /// of them overtake each other.
    private final class Room: Sendable {
        let isThere = Atomic(true)
    }

    /// An inbox whose work begins with the service. Called while the service is built, once.
    public init(_ host: ServiceHost, count: @escaping Count) {
        store = host.store
        waits = host.writers == .every
        logger = host.logger
        self.count = count
        // What was stored when every replica wrote is counted also when one does.
        host.whenWriter("inbox", every: host.pause(.seconds(10)), problem: "Reports could not be counted.") { [self] in
            guard try await store.read({ try !$0.rows("SELECT 1 AS found FROM inbox LIMIT 1", []).isEmpty }) else {
                return .idle
            }
            return try await store.write { try countSome(in: $0) } ? .more : .idle
        }
        guard waits else { return }
        host.whenWriting("inbox.room", every: .seconds(1), problem: "The reports that wait could not be counted.") {
            [store, room] in
            let waiting = try await store.read { reader in
                try reader.rows("SELECT coalesce(max(id) - min(id), 0) AS waiting FROM inbox", []).first?.int("waiting")
            }
            room.isThere.store(waiting ?? 0 < Self.waitingMax, ordering: .relaxed)
            return .idle
        }
    }

    /// Takes a report.
    /// - Throws: what counting throws where it is counted at once; `.serviceUnavailable` (2) while too many wait.
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

    /// Counts what a user's reports say that are stored, so that what is done to the user's figures now is done to them
    /// as well. Those of others wait for their turn, however many there are.
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
                // Nothing that we stored; it would keep all others from being counted.
                logger.error("A report cannot be counted.", metadata: ["error": "\(error)"])
            }
            _ = try transaction.execute("DELETE FROM inbox WHERE id = ?", [row["id"]])
        }
        return rows.count == Self.countedAtOnce
    }
}
