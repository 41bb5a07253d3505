import ObjectStore

/// The migrations of `bag.sqlite`, oldest first. To change a table, append an entry; those of a release stay as they
/// are (docs/upgrading.md).
let bagMigrations = [
    Migration(1, "tables", bagTables),
    Migration(2, "orderStates") { try OrderStates.convert(in: $0) },
    Migration(3, "requestKeys", requestKeys),
    Migration(4, "drivers", drivers),
]

/// Whose turn a running checkout is, where several processes drive checkouts (`CheckoutTurns`).
private let drivers = [
    "ALTER TABLE checkouts ADD COLUMN driver TEXT",
    "ALTER TABLE checkouts ADD COLUMN drivenUntil INTEGER NOT NULL DEFAULT 0",
]

/// Keys of requests are found by their age, whoever's they are; those of clients, which stay, have none.
private let requestKeys = [
    "ALTER TABLE checkoutKeys ADD COLUMN requestedAt INTEGER",
    """
    UPDATE checkoutKeys SET requestedAt = coalesce((SELECT createdAt FROM checkouts WHERE id = checkoutId), 0)
    WHERE key >= 'request:' AND key < 'request;'
    """,
    "CREATE INDEX checkoutKeysOfRequests ON checkoutKeys(requestedAt) WHERE requestedAt IS NOT NULL",
]

/// The tables of release 0.1.0, whose files record no migrations: what they have already is left as it is.
private let bagTables = [
    // MARK: KnownPrices

    "CREATE TABLE IF NOT EXISTS knownPrices(productId TEXT PRIMARY KEY, unitPriceMinorUnits INTEGER) WITHOUT ROWID",

    // MARK: CheckoutLedger

    """
    CREATE TABLE IF NOT EXISTS checkouts(id TEXT PRIMARY KEY, orderId TEXT NOT NULL, customerId TEXT NOT NULL,
    attempt INTEGER NOT NULL, state TEXT NOT NULL, lines TEXT NOT NULL, expectedAmount INTEGER, source TEXT NOT NULL,
    email TEXT NOT NULL, orderFields TEXT NOT NULL, priced TEXT, amount INTEGER, currency TEXT, chargeId TEXT, \
    orderNo INTEGER, reply BLOB,
    createdAt INTEGER NOT NULL, updatedAt INTEGER NOT NULL)
    """,
    "CREATE INDEX IF NOT EXISTS checkoutsOfOrder ON checkouts(orderId)",
    """
    CREATE INDEX IF NOT EXISTS checkoutsRunningOf ON checkouts(customerId)
    WHERE state IN ('started', 'reserved', 'charged')
    """,
    // An order is paid by one checkout at a time.
    """
    CREATE UNIQUE INDEX IF NOT EXISTS checkoutsRunning ON checkouts(orderId)
    WHERE state IN ('started', 'reserved', 'charged')
    """,
    // What a checkout is asked for again by: the client's idempotency key, and the key of each request that reached it.
    """
    CREATE TABLE IF NOT EXISTS checkoutKeys(customerId TEXT NOT NULL, key TEXT NOT NULL, checkoutId TEXT NOT NULL,
    PRIMARY KEY(customerId, key)) WITHOUT ROWID
    """,

    // MARK: RefundLedger

    """
    CREATE TABLE IF NOT EXISTS refunds(id TEXT PRIMARY KEY, orderId TEXT NOT NULL, checkoutId TEXT NOT NULL,
    purpose TEXT NOT NULL, amount INTEGER NOT NULL, reason TEXT NOT NULL, restock INTEGER NOT NULL, state TEXT NOT NULL,
    providerId TEXT, problemCode INTEGER, problem TEXT, createdAt INTEGER NOT NULL, changedAt INTEGER NOT NULL)
    """,
    "CREATE INDEX IF NOT EXISTS refundsOfOrder ON refunds(orderId, createdAt)",
    // Money of an order goes back in one refund at a time.
    "CREATE UNIQUE INDEX IF NOT EXISTS refundsPending ON refunds(orderId) WHERE state = 'pending'",

    // MARK: OrderNumbers

    "CREATE TABLE IF NOT EXISTS counters(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    // The first order gets number 1000001.
    "INSERT INTO counters(name, value) VALUES ('orderNo', 1000000) ON CONFLICT(name) DO NOTHING",

    // MARK: AccountDeletion

    // Who was deleted: what comes late for them, since messages have no order, must not make them known again.
    "CREATE TABLE IF NOT EXISTS deletedUsers(userId TEXT PRIMARY KEY, since INTEGER NOT NULL) WITHOUT ROWID",

    // MARK: MailCause

    """
    CREATE TABLE IF NOT EXISTS checkoutMailCauses(checkoutId TEXT PRIMARY KEY, verified INTEGER NOT NULL,
    network TEXT NOT NULL) WITHOUT ROWID
    """,

    // MARK: RefundKeys

    """
    CREATE TABLE IF NOT EXISTS refundKeys(key TEXT PRIMARY KEY, refundId TEXT NOT NULL, orderId TEXT NOT NULL,
    requested INTEGER, createdAt INTEGER NOT NULL) WITHOUT ROWID
    """,
]
