import ObjectStore

/// The migrations of `mail.sqlite`, oldest first. To change a table, append an entry; never edit an entry of a release
/// (docs/guides/upgrading.md).
let mailMigrations = [
    Migration(1, "tables", mailTables),
    Migration(2, "mailsOfOrders", mailsOfOrders),
    Migration(3, "mailTrace", mailTrace),
    Migration(4, "mailsParked", mailsParked),
]

/// Each scrape of the metrics counts parked mails (`ParkedMails`) with this index alone.
private let mailsParked = [
    "CREATE INDEX mailsParked ON mails(state, (length(model))) WHERE length(model) > 0"
]

/// The `traceparent` of the request that queued a mail.
private let mailTrace = ["ALTER TABLE mails ADD COLUMN trace TEXT"]

/// Existing mails have no order number: it was in their content, which is removed some days after sending.
private let mailsOfOrders = [
    "ALTER TABLE mails ADD COLUMN orderNo INTEGER",
    "CREATE INDEX mailsOfOrder ON mails(orderNo, id) WHERE orderNo IS NOT NULL",
]

/// The tables of release 0.1.0, whose databases record no migrations. Existing tables are left unchanged.
private let mailTables = [
    // MARK: MailQueue

    """
    CREATE TABLE IF NOT EXISTS mails(id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, template TEXT NOT NULL,
    toAddress TEXT NOT NULL, toName TEXT NOT NULL, model BLOB NOT NULL, messageId TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL, attempts INTEGER NOT NULL DEFAULT 0, queuedAt INTEGER NOT NULL, dueAt INTEGER NOT NULL,
    sentAt INTEGER, problem TEXT)
    """,
    // Earlier builds created this index; the next two replace it.
    "DROP INDEX IF EXISTS mailsDue",
    "CREATE INDEX IF NOT EXISTS mailsFresh ON mails(id) WHERE state = 'queued' AND attempts = 0",
    "CREATE INDEX IF NOT EXISTS mailsTried ON mails(dueAt) WHERE state = 'queued' AND attempts > 0",
    "CREATE INDEX IF NOT EXISTS mailsByState ON mails(state, id)",
    "CREATE INDEX IF NOT EXISTS mailsWithContent ON mails(dueAt) WHERE state <> 'queued' AND length(model) > 0",

    // MARK: SuppressionList

    """
    CREATE TABLE IF NOT EXISTS suppressedAddresses(address TEXT PRIMARY KEY, reason TEXT NOT NULL, \
    mailId INTEGER NOT NULL,
    suppressedAt INTEGER NOT NULL)
    """,
    "CREATE INDEX IF NOT EXISTS suppressedAddressesByTime ON suppressedAddresses(suppressedAt)",

    // MARK: MailQuotas

    """
    CREATE TABLE IF NOT EXISTS mailAllowances(subject TEXT PRIMARY KEY, fullAt INTEGER NOT NULL, heldMail INTEGER,
    dropped INTEGER NOT NULL DEFAULT 0) WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS mailAllowancesFull ON mailAllowances(fullAt)",
]
