import ObjectStore

/// The migrations of `push.sqlite`, oldest first. To change a table, append an entry; those of a release stay as they
/// are (docs/upgrading.md).
let pushMigrations = [
    Migration(1, "tables", pushTables),
    Migration(2, "notificationsOfOrders", notificationsOfOrders),
    Migration(3, "pushTimes", statements: pushTimes),
]

/// When a push was asked for, by which the newest of a promotion are found. Of pushes of before only their order is
/// known, and all of them are older: SQLite has it in the rows' numbers. PostgreSQL has none from before.
private func pushTimes(_ dialect: Dialect) -> [String] {
    ["ALTER TABLE pushes ADD COLUMN madeAt INTEGER NOT NULL DEFAULT 0"]
        + (dialect == .sqlite ? ["UPDATE pushes SET madeAt = rowid"] : [])
        + [
            "CREATE INDEX pushesOfPromotionByTime ON pushes(promotion, madeAt) WHERE promotion IS NOT NULL",
            "DROP INDEX pushesOfPromotion",
        ]
}

/// Of notifications of before it is not known how many devices there were.
private let notificationsOfOrders = [
    "ALTER TABLE notifications ADD COLUMN devices INTEGER",
    "CREATE INDEX notificationsOfOrder ON notifications(subject, id)",
]

/// The tables of release 0.1.0, whose files record no migrations: what they have already is left as it is.
private let pushTables = [
    // MARK: Notifications

    """
    CREATE TABLE IF NOT EXISTS notifications(id INTEGER PRIMARY KEY, userId TEXT NOT NULL, reason TEXT NOT NULL,
    subject TEXT NOT NULL, madeAt INTEGER NOT NULL, state TEXT NOT NULL DEFAULT 'waiting', UNIQUE(reason, subject))
    """,
    "CREATE INDEX IF NOT EXISTS notificationsOfUser ON notifications(userId, id)",

    // MARK: Pushes

    // A push, with what its sending needs. Its objectId is that of its `_PushStatus`, which is what people see. state:
    // scheduled, spreading (its deliveries are being made), sending, ended. `cursor` is the last installation looked
    // at, `made` the number of deliveries.
    """
    CREATE TABLE IF NOT EXISTS pushes(id TEXT PRIMARY KEY, state TEXT NOT NULL, condition BLOB NOT NULL, \
    payload BLOB NOT NULL,
    dueAt INTEGER NOT NULL, wallClock INTEGER, expiresAt INTEGER, lifetime INTEGER, cursor TEXT NOT NULL DEFAULT '',
    made INTEGER NOT NULL DEFAULT 0, isCancelled INTEGER NOT NULL DEFAULT 0, promotion TEXT, \
    reportedAt INTEGER NOT NULL DEFAULT 0)
    """,
    "CREATE INDEX IF NOT EXISTS pushesDue ON pushes(dueAt) WHERE state IN ('scheduled', 'spreading')",
    "CREATE INDEX IF NOT EXISTS pushesOfPromotion ON pushes(promotion) WHERE promotion IS NOT NULL",
    // A delivery that is not over. An order's notification has no push, but a payload of its own.
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
    // What became of the deliveries that are over: their rows are gone, their number stays.
    """
    CREATE TABLE IF NOT EXISTS deliveryCounts(push TEXT NOT NULL, isSent INTEGER NOT NULL, reason TEXT NOT NULL,
    deviceType TEXT NOT NULL, utcOffset TEXT NOT NULL, count INTEGER NOT NULL,
    PRIMARY KEY(push, isSent, reason, deviceType, utcOffset)) WITHOUT ROWID
    """,
]
