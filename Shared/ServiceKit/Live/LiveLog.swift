import Logging
import Messages
import ObjectStore
import ParseProtocol
import Synchronization

/// The changes for live queries of a service in which every replica writes. They are logged in the database, and the
/// leader takes them (`StoreTransaction.takeLoggedChanges`). Changes of unwatched classes are not logged.
final class LiveLog: Sendable {
    /// Polling interval while a class is watched.
    private static let pause = Duration.milliseconds(50)
    /// Polling interval while no class is watched.
    private static let idlePause = Duration.seconds(5)
    /// Limit of changes taken in one transaction.
    private static let takenMax = 500
    /// Longest wait for transactions that began before a class was watched.
    private static let settlingMax = Duration.seconds(10)

    let feed: LiveFeedThread
    private let store: ClassStore
    /// Identifies the process that takes the changes.
    private let name = Names.random(20)
    private let wanted: WantedClasses
    private let wakeUp: WakeUp

    init(_ store: ClassStore) {
        self.store = store
        let (wanted, wakeUp) = (WantedClasses(), WakeUp())
        (self.wanted, self.wakeUp) = (wanted, wakeUp)
        feed = LiveFeedThread { classes in
            wanted.set(classes)
            wakeUp.ring()
        }
    }

    /// Ensures that every change of a class committed after this method returns is logged.
    /// - Parameter share: the share of the subscription's request.
    /// - Throws: `.serviceUnavailable` (2) when transactions that began earlier last too long.
    func watch(_ className: String, for share: WorkShare) async throws {
        try await store.write(for: share) { transaction in
            _ = try transaction.execute(
                "INSERT INTO liveClasses(name) VALUES (?) ON CONFLICT DO NOTHING", [.text(className)])
        }
        // Transactions that begin from now on see the row. Running ones may not, so this waits for them by the server's
        // clock.
        let moment = try await store.read(for: share) { reader in
            try reader.rows("SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000000 AS BIGINT) AS moment", [])
                .first?["moment"].intValue ?? 0
        }
        let end = ContinuousClock.now + Self.settlingMax
        while try await store.read(for: share, { try Self.isBusy(since: moment, $0) }) {
            guard ContinuousClock.now < end else {
                throw ParseError(.serviceUnavailable, "The database is busy. Try again.")
            }
            try await Task.sleep(for: .milliseconds(5))
        }
    }

    /// Whether a process of this service is in a transaction that began before a moment of the server's clock.
    private static func isBusy(since moment: Int64, _ reader: StoreReader) throws -> Bool {
        try !reader.rows(
            """
            SELECT 1 AS found FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() \
            AND application_name = current_setting('application_name') \
            AND CAST(extract(epoch FROM xact_start) * 1000000 AS BIGINT) <= ? LIMIT 1
            """, [.int(moment)]
        ).isEmpty
    }

    /// Passes the committed changes to the feed.
    /// - Parameter share: the share of the request that waits for them; nil in the background.
    func take(for share: WorkShare?) async throws {
        while try await isMore(share) {
            do {
                try await store.write(for: share) { [self] in try take(in: $0) }
            } catch {
                // The transaction may have been committed nevertheless.
                feed.lose()
                throw error
            }
        }
    }

    private func isMore(_ share: WorkShare?) async throws -> Bool {
        try await store.read(for: share) { [name] reader in
            try !reader.rows(
                """
                SELECT 1 AS found WHERE NOT EXISTS(SELECT 1 FROM liveTaker WHERE name = ?) \
                OR EXISTS(SELECT 1 FROM liveChanges)
                """, [.text(name)]
            ).isEmpty
        }
    }

    private func take(in transaction: StoreTransaction) throws {
        // Another process was the leader meanwhile and took changes that this feed did not get.
        var isNew = try transaction.execute("UPDATE liveTaker SET name = ?1 WHERE name <> ?1", [.text(name)]) > 0
        // Moves of earlier releases removed the row.
        let insertion = "INSERT INTO liveTaker(name) SELECT CAST(? AS TEXT) WHERE NOT EXISTS(SELECT 1 FROM liveTaker)"
        if try transaction.execute(insertion, [.text(name)]) > 0 { isNew = true }
        let changes = try transaction.takeLoggedChanges(atMost: Self.takenMax)
        transaction.afterCommit { [feed, isNew] in
            if isNew { feed.lose() }
            if !changes.isEmpty { feed.committed(changes) }
        }
    }

    /// The background work that takes changes; only the leader does it.
    func work(_ logger: Logger) -> BackgroundWork {
        BackgroundWork(
            "live", every: Self.idlePause, problem: "Changes for live queries could not be taken.", logger: logger,
            wakeUp: wakeUp
        ) { [self] in
            guard store.role == .writer else { return .idle }
            try await take(for: nil)
            if wanted.shrank() {
                do {
                    try await store.write(for: nil) { [wanted] transaction in
                        for row in try transaction.rows("SELECT name FROM liveClasses", []) {
                            let name = try row.text("name")
                            // Checked inside this transaction: if the class becomes watched again, a later transaction
                            // inserts it again.
                            guard !wanted.contains(name) else { continue }
                            _ = try transaction.execute("DELETE FROM liveClasses WHERE name = ?", [.text(name)])
                        }
                    }
                } catch {
                    wanted.shrinksAgain()
                    throw error
                }
            }
            return .due(in: wanted.isEmpty ? Self.idlePause : Self.pause)
        }
    }
}

/// The classes that a feed watches.
private final class WantedClasses: Sendable {
    private struct State {
        var classes: Set<String> = []
        /// The database may list classes that are no longer watched, also from an earlier process.
        var hasShrunk = true
    }

    private let state = Mutex(State())

    var isEmpty: Bool { state.withLock { $0.classes.isEmpty } }

    func contains(_ name: String) -> Bool { state.withLock { $0.classes.contains(name) } }

    func set(_ classes: Set<String>) {
        state.withLock { state in
            if !state.classes.isSubset(of: classes) { state.hasShrunk = true }
            state.classes = classes
        }
    }

    /// Whether classes became unwatched since the last call.
    func shrank() -> Bool {
        state.withLock { state in
            defer { state.hasShrunk = false }
            return state.hasShrunk
        }
    }

    func shrinksAgain() { state.withLock { $0.hasShrunk = true } }
}
