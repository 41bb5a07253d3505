import ObjectStore

extension Migrations {
    /// The migrations of the tables that every service has, oldest first. To change one, append an entry; those of a
    /// release stay as they are (docs/upgrading.md).
    public static let serviceKit = Migrations(
        "service",
        [
            Migration(1, "tables", serviceTables),
            Migration(2, "liveLog", statements: { dialect in dialect == .sqlite ? [] : liveLog }),
            Migration(3, "inbox", inbox),
        ])
}

/// Reports that are not counted yet, where several processes write (`Inbox`).
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
    // The process that takes them; one row.
    "CREATE TABLE liveTaker(name TEXT NOT NULL)",
    "INSERT INTO liveTaker(name) VALUES ('')",
]

/// The tables of release 0.1.0, whose files record no migrations: what they have already is left as it is.
private let serviceTables = [
    // MARK: KeyedReplies

    // In order of time by `id`, so that old rows are found and removed without an index on the time.
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
