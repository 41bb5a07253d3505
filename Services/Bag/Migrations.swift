import ObjectStore

/// The migrations of `bag.sqlite`, oldest first. To change a table, append an entry; never edit an entry of a release
/// (docs/guides/upgrading.md).
let bagMigrations = [
    Migration(1, "tables", bagTables),
    Migration(2, "orderStates") { try OrderStates.convert(in: $0) },
    Migration(3, "requestKeys", requestKeys),
    Migration(4, "drivers", drivers),
    Migration(5, "fingerprints", fingerprints),
    Migration(6, "deletionsBegun", deletionsBegun),
    Migration(7, "expectedItems", ImportedItems.table),
    Migration(8, "ownersOfImports") { try ImportedItems.addMissingACLs(in: $0) },
    Migration(9, "dimensions") { try OrderStates.addDimensions(in: $0) },
    Migration(10, "refundLines", refundLines),
    Migration(11, "discountCodes", DiscountCodes.tables),
    Migration(12, "customers", CustomerTotals.tables + CustomerMarks.tables),
    Migration(13, "foreignCharges", ["ALTER TABLE refunds ADD COLUMN charged INTEGER"]),
    Migration(14, "changedCustomers", CustomerLookups.changes),
    Migration(15, "actions", confirmations),
    Migration(16, "orderEntries", OrderEntries.tables),
    Migration(17, "importedOrders", importedOrders),
    Migration(18, "parkedRefunds", ParkedRefunds.columns),
    Migration(19, "orderOrigins", OrderOrigins.table),
    Migration(20, "earlierOrders") { try OrderOrigins.noteEarlier(in: $0) },
    Migration(21, "lateFailures", reversals),
    Migration(22, "runningCheckouts", runningCheckouts),
]

/// The conditions are those of `CheckoutState.runningCondition`. The old indexes are dropped last: PostgreSQL
/// locks the table from then until the commit.
private let runningCheckouts = [
    "CREATE INDEX checkoutsOpenOf ON checkouts(customerId) WHERE state NOT IN ('made', 'failed')",
    "CREATE UNIQUE INDEX checkoutsOpen ON checkouts(orderId) WHERE state NOT IN ('made', 'failed')",
    "DROP INDEX checkoutsRunningOf",
    "DROP INDEX checkoutsRunning",
]

/// When a reversed refund had been done (NULL: the refund was not reversed), and the first of the refunds that a retry
/// repeats.
private let reversals = [
    "ALTER TABLE refunds ADD COLUMN doneAt INTEGER", "ALTER TABLE refunds ADD COLUMN retryOf TEXT",
]

/// Orders that an import created (now in `OrderOrigins`).
private let importedOrders = ["CREATE TABLE importedOrders(orderId TEXT PRIMARY KEY) WITHOUT ROWID"]

/// Whether the customer can confirm the charge with the bank, and since when that is awaited (NULL: it is not).
private let confirmations = [
    "ALTER TABLE checkouts ADD COLUMN allowsAction INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE checkouts ADD COLUMN actionSince INTEGER",
]

/// The pieces that a refund is for (`RefundLines`; NULL when the refund names only an amount), and the operator who
/// made it.
private let refundLines = ["ALTER TABLE refunds ADD COLUMN lines TEXT", "ALTER TABLE refunds ADD COLUMN madeBy TEXT"]

/// Accounts that `users` is about to delete (`AccountDeletion`).
private let deletionsBegun = [
    "CREATE TABLE deletionsBegun(userId TEXT PRIMARY KEY, since INTEGER NOT NULL) WITHOUT ROWID"
]

/// Fingerprint of the request that used a key (`RequestFingerprint`); NULL for keys of earlier releases.
private let fingerprints = [
    "ALTER TABLE checkoutKeys ADD COLUMN request TEXT",
    "ALTER TABLE refundKeys ADD COLUMN request TEXT",
]

/// The leases on running checkouts, where several processes drive checkouts (`CheckoutLeases`).
private let drivers = [
    "ALTER TABLE checkouts ADD COLUMN driver TEXT",
    "ALTER TABLE checkouts ADD COLUMN drivenUntil INTEGER NOT NULL DEFAULT 0",
]

/// The time of each request key, by which the cleanup finds expired ones. Client keys do not expire and have no time.
private let requestKeys = [
    "ALTER TABLE checkoutKeys ADD COLUMN requestedAt INTEGER",
    """
    UPDATE checkoutKeys SET requestedAt = coalesce((SELECT createdAt FROM checkouts WHERE id = checkoutId), 0)
    WHERE key >= 'request:' AND key < 'request;'
    """,
    "CREATE INDEX checkoutKeysOfRequests ON checkoutKeys(requestedAt) WHERE requestedAt IS NOT NULL",
]

/// The tables of release 0.1.0, whose databases record no migrations. Existing tables are left unchanged.
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
    // Only one checkout at a time can pay an order.
    """
    CREATE UNIQUE INDEX IF NOT EXISTS checkoutsRunning ON checkouts(orderId)
    WHERE state IN ('started', 'reserved', 'charged')
    """,
    // The keys that identify a repeated checkout request: the client's idempotency key, and the key of each request
    // that began or joined the checkout.
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
    // Only one refund of an order runs at a time.
    "CREATE UNIQUE INDEX IF NOT EXISTS refundsPending ON refunds(orderId) WHERE state = 'pending'",

    // MARK: OrderNumbers

    "CREATE TABLE IF NOT EXISTS counters(name TEXT PRIMARY KEY, value INTEGER NOT NULL) WITHOUT ROWID",
    // The first order gets number 1000001.
    "INSERT INTO counters(name, value) VALUES ('orderNo', 1000000) ON CONFLICT(name) DO NOTHING",

    // MARK: AccountDeletion

    // Deleted users. Messages arrive in any order, and a late message must not create data for a deleted user again.
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
