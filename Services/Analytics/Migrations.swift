import ObjectStore
import ServiceKit

/// The migrations of `analytics.sqlite`, oldest first. To change a table, append an entry; never edit an entry of a
/// release (docs/guides/upgrading.md).
package let analyticsMigrations = [
    Migration(1, "tables", analyticsTables),
    Migration(2, "visits", statements: visitTables),
    Migration(3, "pushTaps", pushTapTables),
    Migration(4, "pastFigures", pastFigureTables),
    Migration(5, "deletedUsers", [DeletedUsers.table]),
]

/// `span` and `startsAt` are minutes, the start since 1970; `figures` is the JSON of a `FigureRow`.
private let pastFigureTables = [
    """
    CREATE TABLE pastFigures(span INTEGER NOT NULL, startsAt INTEGER NOT NULL, gateway TEXT NOT NULL,
    figures TEXT NOT NULL, PRIMARY KEY(span, startsAt, gateway)) WITHOUT ROWID
    """
]

/// Taps on pushes, and the tap that led to each order. Existing orders have none: it is unknown.
private let pushTapTables = [
    // The index of the constraint finds a user's taps by time.
    """
    CREATE TABLE pushTaps(id INTEGER PRIMARY KEY, userId TEXT NOT NULL, tappedAt INTEGER NOT NULL,
    pushHash TEXT NOT NULL, UNIQUE(userId, tappedAt, pushHash))
    """,
    "CREATE INDEX pushTapsByTime ON pushTaps(tappedAt)",
    "ALTER TABLE sales ADD COLUMN pushHash TEXT",
    "ALTER TABLE sales ADD COLUMN pushTappedAt INTEGER",
    "CREATE INDEX salesByPush ON sales(pushHash) WHERE pushHash IS NOT NULL",
    // A tap looks up its user's orders of one week instead of all of them.
    "CREATE INDEX salesByUserAndTime ON sales(userId, madeAt)",
    "DROP INDEX salesByUser",
]

/// First and later visits, computed from the stored days of each id. Earlier days are unknown: in a file with more than
/// 400 days, ids seen on the oldest day count as new on that day.
private func visitTables(_ dialect: Dialect) -> [String] {
    // PostgreSQL has no earlier days.
    [visitTable] + (dialect == .sqlite ? visitsOfKeptDays : []) + visitIndexAndTotals
}

private let visitTable = """
    CREATE TABLE visits(kind INTEGER NOT NULL, id TEXT NOT NULL, firstDay INTEGER NOT NULL, lastDay INTEGER NOT NULL,
    days INTEGER NOT NULL, weeks INTEGER NOT NULL, PRIMARY KEY(kind, id)) WITHOUT ROWID
    """

private let visitsOfKeptDays = [
    // The highest bit is 62. Each bit occurs once, so the sum combines all of them.
    """
    INSERT INTO visits(kind, id, firstDay, lastDay, days, weeks)
    SELECT kind, id, first, max(day), sum(DISTINCT CASE WHEN day - first <= 62 THEN 1 << (day - first) ELSE 0 END),
    sum(DISTINCT CASE WHEN (day + 3) / 7 - (first + 3) / 7 <= 62 \
    THEN 1 << ((day + 3) / 7 - (first + 3) / 7) ELSE 0 END)
    FROM (SELECT kind, id, day, min(day) OVER (PARTITION BY kind, id) AS first FROM activeIds)
    GROUP BY kind, id, first
    """
]

private let visitIndexAndTotals = [
    "CREATE INDEX visitsByFirst ON visits(kind, firstDay)",
    // Maintained by triggers, so that it is correct whichever statement removes rows.
    "CREATE TABLE visitTotals(kind INTEGER PRIMARY KEY, ids INTEGER NOT NULL)",
    "INSERT INTO visitTotals(kind, ids) SELECT kind, count(*) FROM visits GROUP BY kind",
    """
    CREATE TRIGGER visitAdded AFTER INSERT ON visits
    BEGIN INSERT INTO visitTotals(kind, ids) VALUES (NEW.kind, 1) \
    ON CONFLICT(kind) DO UPDATE SET ids = visitTotals.ids + 1; END
    """,
    """
    CREATE TRIGGER visitRemoved AFTER DELETE ON visits
    BEGIN UPDATE visitTotals SET ids = ids - 1 WHERE kind = OLD.kind; END
    """,
]

/// The tables of release 0.1.0, whose databases record no migrations. Existing tables are left unchanged.
private let analyticsTables = [
    // MARK: EventLog

    """
    CREATE TABLE IF NOT EXISTS events(id INTEGER PRIMARY KEY, name TEXT NOT NULL, happenedAt INTEGER NOT NULL,
    receivedAt INTEGER NOT NULL, userId TEXT, installationId TEXT, pushHash TEXT, dimensions TEXT NOT NULL)
    """,
    // The table's id is the index's last column, so the newest events of a name are found without sorting.
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
