import ObjectStore

extension Migrations {
    /// The migrations of the tables that every service has, oldest first. To change a table, append an entry; never
    /// edit one of a release (docs/guides/upgrading.md).
    public static let serviceKit = Migrations(
        "service",
        [
            Migration(1, "tables", serviceTables),
            Migration(2, "liveLog", statements: { dialect in dialect == .sqlite ? [] : liveLog }),
            Migration(3, "inbox", inbox),
            Migration(4, "parkedMessages", parkedMessages),
            Migration(5, "stagedRows", MoveStage.tables),
            Migration(6, "outboxTrace", outboxTrace),
            Migration(7, "clientReplies", clientReplies),
            Migration(8, "parkedTrace", parkedTrace),
        ])
}

/// The `traceparent` of the request that wrote each message.
private let outboxTrace = ["ALTER TABLE outbox ADD COLUMN trace TEXT"]

/// The `traceparent` of each parked message.
private let parkedTrace = ["ALTER TABLE parkedMessages ADD COLUMN trace TEXT"]

/// Replies to clients' writes with an `Idempotency-Key` (`KeyedReplies`).
private let clientReplies = [
    """
    CREATE TABLE clientReplies(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, keptSince INTEGER NOT NULL,
    reply BLOB NOT NULL)
    """
]

/// Messages that their receivers refused repeatedly (`ParkedMessages`).
private let parkedMessages = [
    "ALTER TABLE outbox ADD COLUMN refusals INTEGER NOT NULL DEFAULT 0",
    """
    CREATE TABLE parkedMessages(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, kind TEXT NOT NULL,
    body BLOB NOT NULL, problem TEXT NOT NULL, parkedAt INTEGER NOT NULL)
    """,
]

/// Reports that were received but not yet counted (`Inbox`). Used where several processes write.
private let inbox = [
    """
    CREATE TABLE inbox(id INTEGER PRIMARY KEY, kind TEXT NOT NULL, body BLOB NOT NULL, userId TEXT,
    installationId TEXT, receivedAt INTEGER NOT NULL)
    """
]

/// The changes of watched classes, where several processes write (`LiveLog`).
private let liveLog = [
    "CREATE TABLE liveClasses(name TEXT PRIMARY KEY)",
    """
    CREATE TABLE liveChanges(id INTEGER PRIMARY KEY, class TEXT NOT NULL, objectId TEXT NOT NULL, textBefore BLOB,
    textAfter BLOB)
    """,
    // The process that takes the changes; one row.
    "CREATE TABLE liveTaker(name TEXT NOT NULL)",
    "INSERT INTO liveTaker(name) VALUES ('')",
]

/// The tables of release 0.1.0, whose databases record no migrations; existing tables are not touched.
private let serviceTables = [
    // MARK: KeyedReplies

    // `id` increases with time, so old rows can be found and removed without an index on the time.
    """
    CREATE TABLE IF NOT EXISTS keyedReplies(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, \
    keptSince INTEGER NOT NULL,
    reply BLOB NOT NULL)
    """,
    """
    CREATE TABLE IF NOT EXISTS deliveredReplies(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, \
    keptSince INTEGER NOT NULL,
    reply BLOB NOT NULL)
    """,

    // MARK: Outbox

    """
    CREATE TABLE IF NOT EXISTS outbox(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, kind TEXT NOT NULL, \
    body BLOB NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0, dueAt INTEGER NOT NULL, lastProblem TEXT)
    """,
    "CREATE INDEX IF NOT EXISTS outboxDue ON outbox(dueAt)",
]
