import ObjectStore

/// The migrations of `payments.sqlite`, oldest first. To change a table, append an entry; never edit an entry of a
/// release (docs/guides/upgrading.md).
let paymentsMigrations = [
    Migration(1, "tables", paymentsTables),
    Migration(2, "unanswered", unanswered),
    Migration(3, "actions", actions),
    Migration(4, "parkedRefunds", ParkedUndos.columns),
]

/// Charges that the customer may confirm with the bank, and those that wait for it.
private let actions = [
    "ALTER TABLE charges ADD COLUMN allowsAction INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE charges ADD COLUMN awaitsAction INTEGER NOT NULL DEFAULT 0",
    // Of a charge that the customer has to confirm; its `failure` is not null meanwhile.
    "ALTER TABLE sandboxCharges ADD COLUMN clientSecret TEXT",
]

/// Requests of an operation whose outcome is unknown (`StripeOperations`). Older operations count as having one.
private let unanswered = ["ALTER TABLE stripeOperations ADD COLUMN unanswered INTEGER NOT NULL DEFAULT 1"]

/// The tables of release 0.1.0, whose databases record no migrations. Existing tables are left unchanged.
private let paymentsTables = [
    // MARK: ChargeLedger

    """
    CREATE TABLE IF NOT EXISTS charges(operationId TEXT PRIMARY KEY, orderId TEXT NOT NULL, userId TEXT NOT NULL,
    amount INTEGER NOT NULL, currency TEXT NOT NULL, requested TEXT NOT NULL, source TEXT NOT NULL, state TEXT NOT NULL,
    chargeId TEXT, brand TEXT, lastFour TEXT, failure TEXT, createdAt INTEGER NOT NULL, changedAt INTEGER NOT NULL)
    """,
    "CREATE INDEX IF NOT EXISTS chargesByOrder ON charges(orderId)",
    "CREATE INDEX IF NOT EXISTS chargesOpen ON charges(source) WHERE state = 'created'",
    "CREATE INDEX IF NOT EXISTS chargesByUser ON charges(userId)",
    "CREATE INDEX IF NOT EXISTS chargesByTime ON charges(createdAt)",
    "CREATE INDEX IF NOT EXISTS chargesByProvidersId ON charges(chargeId)",

    // MARK: RefundLedger

    """
    CREATE TABLE IF NOT EXISTS refunds(operationId TEXT PRIMARY KEY, chargeOperationId TEXT NOT NULL, \
    requested INTEGER NOT NULL,
    amount INTEGER NOT NULL, state TEXT NOT NULL, refundId TEXT, failure TEXT, attempts INTEGER NOT NULL DEFAULT 0,
    dueAt INTEGER NOT NULL, createdAt INTEGER NOT NULL, changedAt INTEGER NOT NULL)
    """,
    "CREATE INDEX IF NOT EXISTS refundsByCharge ON refunds(chargeOperationId)",
    "CREATE INDEX IF NOT EXISTS refundsOpen ON refunds(dueAt) WHERE state = 'created'",

    // MARK: UndecidedReasons

    """
    CREATE TABLE IF NOT EXISTS openProblems(operationId TEXT PRIMARY KEY, attempts INTEGER NOT NULL, \
    problem TEXT NOT NULL,
    changedAt INTEGER NOT NULL)
    """,

    // MARK: CustomerDeletions

    "CREATE TABLE IF NOT EXISTS forgottenCustomers(customerId TEXT PRIMARY KEY, since INTEGER NOT NULL)",

    // MARK: AccountDeletion

    "CREATE TABLE IF NOT EXISTS deletedUsers(userId TEXT PRIMARY KEY, since INTEGER NOT NULL)",

    // MARK: PaymentEvents

    """
    CREATE TABLE IF NOT EXISTS paymentEvents(id INTEGER PRIMARY KEY, eventId TEXT NOT NULL UNIQUE, type TEXT NOT NULL,
    objectId TEXT NOT NULL, operationId TEXT NOT NULL, amount INTEGER NOT NULL, currency TEXT NOT NULL, \
    effect TEXT NOT NULL,
    createdAt INTEGER NOT NULL, receivedAt INTEGER NOT NULL)
    """,

    // MARK: SandboxProvider

    """
    CREATE TABLE IF NOT EXISTS sandboxCustomers(customerId TEXT PRIMARY KEY, key TEXT NOT NULL UNIQUE, \
    token TEXT NOT NULL,
    email TEXT, deleted INTEGER NOT NULL DEFAULT 0)
    """,
    """
    CREATE TABLE IF NOT EXISTS sandboxCharges(key TEXT PRIMARY KEY, chargeId TEXT NOT NULL, orderId TEXT NOT NULL,
    source TEXT NOT NULL, amount INTEGER NOT NULL, currency TEXT NOT NULL, failure TEXT, brand TEXT, lastFour TEXT,
    createdAt INTEGER NOT NULL)
    """,
    "CREATE INDEX IF NOT EXISTS sandboxChargesById ON sandboxCharges(chargeId)",
    """
    CREATE TABLE IF NOT EXISTS sandboxRefunds(key TEXT PRIMARY KEY, refundId TEXT NOT NULL, chargeId TEXT NOT NULL,
    amount INTEGER NOT NULL, createdAt INTEGER NOT NULL)
    """,
    "CREATE INDEX IF NOT EXISTS sandboxRefundsByCharge ON sandboxRefunds(chargeId)",

    // MARK: StripeOperations

    """
    CREATE TABLE IF NOT EXISTS stripeOperations(key TEXT PRIMARY KEY, intentId TEXT, failure TEXT,
    isAbandoned INTEGER NOT NULL DEFAULT 0, askedAt INTEGER NOT NULL)
    """,

    // MARK: HighestOrder

    "CREATE TABLE IF NOT EXISTS highestOrder(id INTEGER PRIMARY KEY CHECK (id = 1), orderNumber INTEGER NOT NULL)",
]
