import ObjectStore
import ServiceKit

/// The migrations of `crash.sqlite`, oldest first. To change a table, append an entry; never edit an entry of a release
/// (docs/guides/upgrading.md).
let crashMigrations = [
    Migration(1, "tables", statements: crashTables),
    Migration(2, "days", crashDayTables),
    Migration(3, "deletedUsers", [DeletedUsers.table]),
]

/// Daily counts. Earlier days are unknown: only the newest reports of each issue are stored.
private let crashDayTables = [
    """
    CREATE TABLE releaseDays(projectId INTEGER NOT NULL, day INTEGER NOT NULL, release TEXT NOT NULL,
    reports INTEGER NOT NULL, crashes INTEGER NOT NULL, sessions INTEGER NOT NULL, crashedSessions INTEGER NOT NULL,
    devices INTEGER NOT NULL, crashedDevices INTEGER NOT NULL, PRIMARY KEY(projectId, day, release)) WITHOUT ROWID
    """,
    """
    CREATE TABLE issueDays(issueId INTEGER NOT NULL, day INTEGER NOT NULL, reports INTEGER NOT NULL,
    crashes INTEGER NOT NULL, PRIMARY KEY(issueId, day)) WITHOUT ROWID
    """,
    // These indexes find expired rows; a growing count does not change them.
    "CREATE INDEX releaseDaysByDay ON releaseDays(day)",
    "CREATE INDEX issueDaysByDay ON issueDays(day)",
    "CREATE TABLE sessionMarks(day INTEGER NOT NULL, mark BLOB NOT NULL, PRIMARY KEY(day, mark)) WITHOUT ROWID",
    "CREATE TABLE sessionMarkDays(day INTEGER PRIMARY KEY, count INTEGER NOT NULL)",
]

/// The tables of release 0.1.0, whose databases record no migrations. Existing tables are left unchanged.
private func crashTables(_ dialect: Dialect) -> [String] {
    crashProjectTables + firstProject(dialect) + crashEventTables
}

// MARK: Projects

private let crashProjectTables = [
    "CREATE TABLE IF NOT EXISTS crashProjects(id INTEGER PRIMARY KEY, name TEXT NOT NULL, createdAt INTEGER NOT NULL)",
    """
    CREATE TABLE IF NOT EXISTS crashKeys(publicKey TEXT PRIMARY KEY, projectId INTEGER NOT NULL, \
    createdAt INTEGER NOT NULL,
    disabledAt INTEGER)
    """,
]

/// A new suite starts with one project.
private func firstProject(_ dialect: Dialect) -> [String] {
    guard dialect == .sqlite else {
        let now = "CAST(floor(extract(epoch FROM now())) AS BIGINT) * 1000"
        return [
            "INSERT INTO crashProjects(id, name, createdAt) VALUES (1, 'default', \(now))",
            "SELECT setval(pg_get_serial_sequence('crashprojects', 'id'), 1)",
            """
            INSERT INTO crashKeys(publicKey, projectId, createdAt)
            VALUES (replace(CAST(gen_random_uuid() AS TEXT), '-', ''), 1, \(now))
            """,
        ]
    }
    let now = "CAST(strftime('%s', 'now') AS INTEGER) * 1000"
    return [
        """
        INSERT INTO crashProjects(id, name, createdAt) SELECT 1, 'default', \(now)
        WHERE NOT EXISTS (SELECT 1 FROM crashProjects)
        """,
        """
        INSERT INTO crashKeys(publicKey, projectId, createdAt) SELECT lower(hex(randomblob(16))), 1, \(now)
        WHERE NOT EXISTS (SELECT 1 FROM crashKeys)
        """,
    ]
}

private let crashEventTables = [
    // MARK: EventStore

    """
    CREATE TABLE IF NOT EXISTS crashEvents(id INTEGER PRIMARY KEY, projectId INTEGER NOT NULL, eventId TEXT NOT NULL,
    issueId INTEGER NOT NULL, receivedAt INTEGER NOT NULL, type TEXT NOT NULL, message TEXT NOT NULL, \
    level TEXT NOT NULL,
    release TEXT NOT NULL, platform TEXT NOT NULL, userId TEXT, bytes INTEGER NOT NULL, event BLOB NOT NULL,
    UNIQUE(projectId, eventId))
    """,
    "CREATE INDEX IF NOT EXISTS crashEventsByIssue ON crashEvents(issueId)",
    "CREATE INDEX IF NOT EXISTS crashEventsByUser ON crashEvents(userId) WHERE userId IS NOT NULL",
    // Maintained by triggers, so that it is correct whichever statement removes events.
    "CREATE TABLE IF NOT EXISTS crashBytes(id INTEGER PRIMARY KEY CHECK (id = 1), total INTEGER NOT NULL)",
    "INSERT INTO crashBytes(id, total) VALUES (1, 0) ON CONFLICT(id) DO NOTHING",
    """
    CREATE TRIGGER IF NOT EXISTS crashEventAdded AFTER INSERT ON crashEvents
    BEGIN UPDATE crashBytes SET total = total + NEW.bytes; END
    """,
    """
    CREATE TRIGGER IF NOT EXISTS crashEventRemoved AFTER DELETE ON crashEvents
    BEGIN UPDATE crashBytes SET total = total - OLD.bytes; END
    """,

    // MARK: IssueLog

    """
    CREATE TABLE IF NOT EXISTS issues(id INTEGER PRIMARY KEY, publicId TEXT NOT NULL UNIQUE, projectId INTEGER NOT NULL,
    fingerprint TEXT NOT NULL, title TEXT NOT NULL, culprit TEXT NOT NULL, level TEXT NOT NULL, platform TEXT NOT NULL,
    firstSeen INTEGER NOT NULL, lastSeen INTEGER NOT NULL, count INTEGER NOT NULL DEFAULT 0,
    users INTEGER NOT NULL DEFAULT 0, status TEXT NOT NULL, resolvedIn TEXT NOT NULL DEFAULT '',
    resolvedAt INTEGER NOT NULL DEFAULT 0, UNIQUE(projectId, fingerprint))
    """,
    "CREATE INDEX IF NOT EXISTS issuesByTime ON issues(lastSeen)",
    """
    CREATE TABLE IF NOT EXISTS issueReleases(issueId INTEGER NOT NULL, release TEXT NOT NULL, count INTEGER NOT NULL,
    firstSeen INTEGER NOT NULL, lastSeen INTEGER NOT NULL, PRIMARY KEY(issueId, release)) WITHOUT ROWID
    """,
    """
    CREATE TABLE IF NOT EXISTS issueUsers(issueId INTEGER NOT NULL, userHash TEXT NOT NULL,
    PRIMARY KEY(issueId, userHash)) WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS issueUsersByUser ON issueUsers(userHash)",
    """
    CREATE TABLE IF NOT EXISTS crashReleases(projectId INTEGER NOT NULL, release TEXT NOT NULL, \
    firstSeen INTEGER NOT NULL,
    PRIMARY KEY(projectId, release)) WITHOUT ROWID
    """,
]
