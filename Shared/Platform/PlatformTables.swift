// The statements of the platform's tables, for the migrations of the service that hosts the platform. Never edit one of
// a release (docs/guides/upgrading.md).

/// The tables of release 0.1.0, whose databases record no migrations. Existing tables are left unchanged.
package let platformTables = [
    // MARK: ConfigParameters

    """
    CREATE TABLE IF NOT EXISTS configParameters(
        name TEXT PRIMARY KEY, value TEXT NOT NULL, masterKeyOnly INTEGER NOT NULL, changedAt INTEGER NOT NULL)
    """,

    // MARK: FileTable

    """
    CREATE TABLE IF NOT EXISTS files(name TEXT PRIMARY KEY, contentType TEXT NOT NULL, size INTEGER NOT NULL, \
    owner TEXT,
    metadata TEXT NOT NULL, createdAt INTEGER NOT NULL) WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS filesByOwner ON files(owner, size) WHERE owner IS NOT NULL",

    // MARK: HookDefinitions

    """
    CREATE TABLE IF NOT EXISTS hooks(
        className TEXT NOT NULL, name TEXT NOT NULL, url TEXT NOT NULL, changedAt INTEGER NOT NULL,
        PRIMARY KEY(className, name)) WITHOUT ROWID
    """,

    // MARK: Jobs

    // A requested run of a job; the row exists until the run ends.
    """
    CREATE TABLE IF NOT EXISTS jobRuns(
        id INTEGER PRIMARY KEY, status TEXT NOT NULL UNIQUE, name TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0)
    """,
    // When a schedule is due next; no row when it never runs again.
    "CREATE TABLE IF NOT EXISTS jobTimes(schedule TEXT PRIMARY KEY, dueAt INTEGER NOT NULL)",
    "CREATE INDEX IF NOT EXISTS jobTimesDue ON jobTimes(dueAt)",
]

/// The definitions of cloud code (`CodeHooks`). Functions and jobs have no class.
package let codeHookTables = [
    """
    CREATE TABLE codeHooks(kind TEXT NOT NULL, className TEXT NOT NULL, name TEXT NOT NULL,
    PRIMARY KEY(kind, className, name)) WITHOUT ROWID
    """
]

/// Whether an operator asked a running job to stop.
package let stoppedJobColumns = ["ALTER TABLE jobRuns ADD COLUMN isStopped INTEGER NOT NULL DEFAULT 0"]

/// Where each file's content is stored, and the bucket objects to delete (`BucketDeletions`). Without a bucket the
/// index of files is empty.
package let fileBucketTables = [
    "ALTER TABLE files ADD COLUMN inBucket INTEGER NOT NULL DEFAULT 0",
    "CREATE INDEX filesInBucket ON files(inBucket) WHERE inBucket = 1",
    "CREATE TABLE bucketDrops(name TEXT PRIMARY KEY, dueAt INTEGER NOT NULL) WITHOUT ROWID",
    "CREATE INDEX bucketDropsDue ON bucketDrops(dueAt)",
]

/// The answers to clients' writes with an `Idempotency-Key` (`KeyedAnswers`).
package let keyedAnswerTables = [
    """
    CREATE TABLE keyedAnswers(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, request TEXT NOT NULL,
    seed TEXT NOT NULL, run TEXT NOT NULL, busyUntil INTEGER NOT NULL, keptSince INTEGER NOT NULL,
    isDone INTEGER NOT NULL DEFAULT 0, answer BLOB)
    """
]
