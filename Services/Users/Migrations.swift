import ObjectStore

/// The migrations of `users.sqlite`, oldest first. To change a table, append an entry; never edit one of a release
/// (docs/guides/upgrading.md).
/// - Parameter key: the account key, for data stored hashed or encrypted.
func usersMigrations(_ key: AccountKey) -> [Migration] {
    [
        Migration(1, "tables", usersTables),
        Migration(2, "genderIsANumber") { try GenderField.convert(in: $0) },
        Migration(3, "plainSecrets") { try PlainSecrets.convert(key, in: $0) },
        Migration(4, "publicUsers", publicUserTables),
        Migration(5, "auditLog", AuditLog.tables),
        Migration(6, "operatorRoles") { try OperatorRoles.setAside(in: $0) },
        Migration(7, "personNames") { try PersonNames.fill(in: $0) },
        Migration(8, "auditEntriesByObjectId", AuditLog.objectIndex),
        Migration(9, "deskViews", DeskViews.tables),
        Migration(10, "team", Invitations.tables + LastSeen.tables),
        Migration(11, "movedPasswords", MovedPasswords.tables),
        Migration(12, "idlePeriod", IdleUsers.tables),
    ]
}

/// The tables of release 0.1.0, whose databases record no migrations; existing tables are not touched.
private let usersTables = [
    // MARK: Credentials

    "CREATE TABLE IF NOT EXISTS credentials(userId TEXT PRIMARY KEY, hash TEXT NOT NULL) WITHOUT ROWID",

    // MARK: PasswordHistory

    """
    CREATE TABLE IF NOT EXISTS passwordHistory(userId TEXT NOT NULL, chosenAt INTEGER NOT NULL, hash TEXT NOT NULL,
    PRIMARY KEY(userId, chosenAt)) WITHOUT ROWID
    """,

    // MARK: SecondFactors

    // `secret` is empty; releases without `sealedSecrets` stored it here.
    """
    CREATE TABLE IF NOT EXISTS secondFactors(userId TEXT PRIMARY KEY, secret BLOB NOT NULL, \
    usedStep INTEGER NOT NULL) WITHOUT ROWID
    """,
    "CREATE TABLE IF NOT EXISTS sealedSecrets(userId TEXT PRIMARY KEY, sealed BLOB NOT NULL) WITHOUT ROWID",
    """
    CREATE TABLE IF NOT EXISTS recoveryCodes(userId TEXT NOT NULL, hash TEXT NOT NULL, usedAt INTEGER, \
    PRIMARY KEY(userId, hash))
    WITHOUT ROWID
    """,

    // MARK: Identities

    """
    CREATE TABLE IF NOT EXISTS identities(kind TEXT NOT NULL, value TEXT NOT NULL, userId TEXT NOT NULL,
    PRIMARY KEY(kind, value)) WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS identitiesByUser ON identities(userId, kind)",

    // MARK: AnonymousIds

    "CREATE TABLE IF NOT EXISTS anonymousIds(userId TEXT PRIMARY KEY, sealed BLOB NOT NULL) WITHOUT ROWID",

    // MARK: SignInFailures

    """
    CREATE TABLE IF NOT EXISTS signInFailures(subject TEXT PRIMARY KEY, failures INTEGER NOT NULL, \
    endsAt INTEGER NOT NULL)
    WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS signInFailuresByEnd ON signInFailures(endsAt)",

    // MARK: KnownDevices

    """
    CREATE TABLE IF NOT EXISTS knownDevices(userId TEXT NOT NULL, device TEXT NOT NULL, seenAt INTEGER NOT NULL,
    PRIMARY KEY(userId, device)) WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS knownDevicesBySeen ON knownDevices(seenAt)",

    // MARK: Sessions

    "CREATE TABLE IF NOT EXISTS sessionTokens(hash TEXT PRIMARY KEY, sessionId TEXT NOT NULL UNIQUE) WITHOUT ROWID",
    // Sessions whose expiry the master key set; use does not extend them.
    "CREATE TABLE IF NOT EXISTS fixedSessions(sessionId TEXT PRIMARY KEY) WITHOUT ROWID",

    // MARK: MailedTokens

    """
    CREATE TABLE IF NOT EXISTS mailedTokens(hash TEXT PRIMARY KEY, link INTEGER NOT NULL, userId TEXT NOT NULL, \
    email TEXT NOT NULL,
    expiresAt INTEGER NOT NULL, usedAt INTEGER) WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS mailedTokensByUser ON mailedTokens(userId, link)",
    "CREATE INDEX IF NOT EXISTS mailedTokensByEnd ON mailedTokens(expiresAt)",

    // MARK: MailQuota

    """
    CREATE TABLE IF NOT EXISTS mailQuota(subject TEXT PRIMARY KEY, asked INTEGER NOT NULL, \
    endsAt INTEGER NOT NULL) WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS mailQuotaByEnd ON mailQuota(endsAt)",

    // MARK: KeyCheck

    "CREATE TABLE IF NOT EXISTS accountKey(id INTEGER PRIMARY KEY CHECK(id = 1), digest TEXT NOT NULL)",
]

private let publicUserTables = [
    // Users whose ACL is public because of `SATCHEL_PUBLIC_USERS`.
    "CREATE TABLE shownUsers(userId TEXT PRIMARY KEY) WITHOUT ROWID",
    // Users whose ACL a client chose.
    "CREATE TABLE chosenACLs(userId TEXT PRIMARY KEY) WITHOUT ROWID",
]
