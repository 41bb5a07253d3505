import ObjectStore

/// The migrations of `analytics.sqlite`, oldest first. To change a table, append an entry; those of a release stay as
/// they are (docs/upgrading.md).
let analyticsMigrations = [
    Migration(1, "tables", analyticsTables)
]

/// The tables of release 0.1.0, whose files record no migrations: what they have already is left as it is.
private let analyticsTables = [
    // MARK: EventLog

    """
    CREATE TABLE IF NOT EXISTS events(id INTEGER PRIMARY KEY, name TEXT NOT NULL, happenedAt INTEGER NOT NULL,
    receivedAt INTEGER NOT NULL, userId TEXT, installationId TEXT, pushHash TEXT, dimensions TEXT NOT NULL)
    """,
    // The table's id is the index's last column, so the newest of a name are found without sorting.
    "CREATE INDEX IF NOT EXISTS eventsByName ON events(name)",
    "CREATE INDEX IF NOT EXISTS eventsByUser ON events(userId) WHERE userId IS NOT NULL",

    // MARK: Cardinality

    """
    CREATE TABLE IF NOT EXISTS cardinality(day INTEGER NOT NULL, scope TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY(day, scope)) WITHOUT ROWID
    """,

    // MARK: EventCounts

    """
    CREATE TABLE IF NOT EXISTS eventHours(name TEXT NOT NULL, hour INTEGER NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY(name, hour)) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS dimensionDays(name TEXT NOT NULL, dimension TEXT NOT NULL, day INTEGER NOT NULL,
    value TEXT NOT NULL, count INTEGER NOT NULL, PRIMARY KEY(name, dimension, day, value)) WITHOUT ROWID
    """,

    // MARK: ActiveIds

    """
    CREATE TABLE IF NOT EXISTS activeIds(kind INTEGER NOT NULL, day INTEGER NOT NULL, id TEXT NOT NULL,
    PRIMARY KEY(kind, day, id)) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS activeDays(kind INTEGER NOT NULL, day INTEGER NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY(kind, day)) WITHOUT ROWID
    """,

    // MARK: PushOpens

    """
    CREATE TABLE IF NOT EXISTS pushOpens(pushHash TEXT PRIMARY KEY, opens INTEGER NOT NULL, firstAt INTEGER NOT NULL,
    lastAt INTEGER NOT NULL) WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS pushOpensByTime ON pushOpens(lastAt)",

    // MARK: SalesLog

    """
    CREATE TABLE IF NOT EXISTS sales(orderId TEXT PRIMARY KEY, orderNumber INTEGER NOT NULL, userId TEXT NOT NULL,
    totalMinorUnits INTEGER NOT NULL, currency TEXT NOT NULL, pieces INTEGER NOT NULL, madeAt INTEGER NOT NULL)
    """,
    "CREATE INDEX IF NOT EXISTS salesByTime ON sales(madeAt)",
    "CREATE INDEX IF NOT EXISTS salesByUser ON sales(userId)",
    """
    CREATE TABLE IF NOT EXISTS refunds(orderId TEXT NOT NULL, status INTEGER NOT NULL, changedAt INTEGER NOT NULL,
    minorUnits INTEGER NOT NULL, currency TEXT NOT NULL, PRIMARY KEY(orderId, status, changedAt)) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS salesHours(currency TEXT NOT NULL, hour INTEGER NOT NULL, \
    orders INTEGER NOT NULL DEFAULT 0,
    pieces INTEGER NOT NULL DEFAULT 0, grossMinorUnits INTEGER NOT NULL DEFAULT 0, cancelled INTEGER NOT NULL DEFAULT 0,
    refunds INTEGER NOT NULL DEFAULT 0, refundedMinorUnits INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY(currency, hour)) WITHOUT ROWID
    """,

    // MARK: RequestCountsLog

    """
    CREATE TABLE IF NOT EXISTS requestHours(hour INTEGER NOT NULL, target TEXT NOT NULL, verb TEXT NOT NULL,
    deviceType TEXT NOT NULL, sdk TEXT NOT NULL, statusClass INTEGER NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY(hour, target, verb, deviceType, sdk, statusClass)) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS requestReports(gateway TEXT PRIMARY KEY, sequence INTEGER NOT NULL, \
    seenAt INTEGER NOT NULL)
    """,
]
