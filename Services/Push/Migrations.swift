import ObjectStore

/// The migrations of `push.sqlite`, oldest first. To change a table, append an entry; never edit an entry of a release
/// (docs/guides/upgrading.md).
let pushMigrations = [
    Migration(1, "tables", pushTables),
    Migration(2, "notificationsOfOrders", notificationsOfOrders),
    Migration(3, "pushTimes", statements: pushTimes),
    Migration(4, "parkedDeliveries", ParkedDeliveries.tables),
]

/// Adds the time of a push's request, by which a promotion's newest pushes are found. Existing pushes get their SQLite
/// row id instead, which keeps their order and is less than any time. PostgreSQL has no existing pushes.
private func pushTimes(_ dialect: Dialect) -> [String] {
    ["ALTER TABLE pushes ADD COLUMN madeAt INTEGER NOT NULL DEFAULT 0"]
        + (dialect == .sqlite ? ["UPDATE pushes SET madeAt = rowid"] : [])
        + [
            "CREATE INDEX pushesOfPromotionByTime ON pushes(promotion, madeAt) WHERE promotion IS NOT NULL",
            "DROP INDEX pushesOfPromotion",
        ]
}

/// The number of devices of existing notifications is unknown.
private let notificationsOfOrders = [
    "ALTER TABLE notifications ADD COLUMN devices INTEGER",
    "CREATE INDEX notificationsOfOrder ON notifications(subject, id)",
]

/// The tables of release 0.1.0, whose databases record no migrations. Existing tables are left unchanged.
private let pushTables = [
    // MARK: Notifications

    """
    CREATE TABLE IF NOT EXISTS notifications(id INTEGER PRIMARY KEY, userId TEXT NOT NULL, reason TEXT NOT NULL,
    subject TEXT NOT NULL, madeAt INTEGER NOT NULL, state TEXT NOT NULL DEFAULT 'waiting', UNIQUE(reason, subject))
    """,
    "CREATE INDEX IF NOT EXISTS notificationsOfUser ON notifications(userId, id)",

    // MARK: Pushes

    // A push with its sending state. It shares its objectId with its `_PushStatus`, which clients see. state:
    // scheduled, spreading (its deliveries are being created), sending, ended. `cursor` is the last inspected
    // installation, `made` the number of deliveries.
    """
    CREATE TABLE IF NOT EXISTS pushes(id TEXT PRIMARY KEY, state TEXT NOT NULL, condition BLOB NOT NULL, \
    payload BLOB NOT NULL,
    dueAt INTEGER NOT NULL, wallClock INTEGER, expiresAt INTEGER, lifetime INTEGER, cursor TEXT NOT NULL DEFAULT '',
    made INTEGER NOT NULL DEFAULT 0, isCancelled INTEGER NOT NULL DEFAULT 0, promotion TEXT, \
    reportedAt INTEGER NOT NULL DEFAULT 0)
    """,
    "CREATE INDEX IF NOT EXISTS pushesDue ON pushes(dueAt) WHERE state IN ('scheduled', 'spreading')",
    "CREATE INDEX IF NOT EXISTS pushesOfPromotion ON pushes(promotion) WHERE promotion IS NOT NULL",
    // An unfinished delivery. An order's notification has its own payload instead of a push.
    """
    CREATE TABLE IF NOT EXISTS deliveries(id INTEGER PRIMARY KEY, name TEXT NOT NULL, push TEXT NOT NULL DEFAULT '',
    installation TEXT NOT NULL, deviceType TEXT NOT NULL, token TEXT NOT NULL, appIdentifier TEXT, userId TEXT, \
    payload BLOB,
    badge INTEGER, utcOffset INTEGER, attempts INTEGER NOT NULL DEFAULT 0, madeAt INTEGER NOT NULL, \
    dueAt INTEGER NOT NULL,
    expiresAt INTEGER, problem TEXT)
    """,
    "CREATE INDEX IF NOT EXISTS deliveriesDue ON deliveries(dueAt, id)",
    "CREATE INDEX IF NOT EXISTS deliveriesOfPush ON deliveries(push)",
    "CREATE INDEX IF NOT EXISTS deliveriesOfUser ON deliveries(userId) WHERE userId IS NOT NULL",
    // Results of finished deliveries: their rows are removed, their counts are kept.
    """
    CREATE TABLE IF NOT EXISTS deliveryCounts(push TEXT NOT NULL, isSent INTEGER NOT NULL, reason TEXT NOT NULL,
    deviceType TEXT NOT NULL, utcOffset TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY(push, isSent, reason, deviceType, utcOffset)) WITHOUT ROWID
    """,
]
