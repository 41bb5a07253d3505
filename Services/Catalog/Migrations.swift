import ObjectStore
import Platform

/// The migrations of `catalog.sqlite`, oldest first. To change a table, append an entry; never edit an entry of a
/// release (docs/guides/upgrading.md).
let catalogMigrations = [
    Migration(1, "tables", catalogTables + platformTables),
    Migration(2, "authorRenames", authorRenameTables),
    Migration(3, "codeHooks", codeHookTables),
    Migration(4, "stoppedJobs", stoppedJobColumns),
    Migration(5, "editorRights") { try EditorRights.grant(in: $0) },
    Migration(6, "fileBucket", fileBucketTables),
    Migration(7, "ownersOfReviews") { try ReviewRules.closeImports(in: $0) },
    // The goods of a reservation that returned to stock (`Restocks`).
    Migration(
        8, "restockedPieces",
        [
            """
            CREATE TABLE restockedPieces(reservationId TEXT NOT NULL, productId TEXT NOT NULL, pieces INTEGER NOT NULL,
            PRIMARY KEY(reservationId, productId)) WITHOUT ROWID
            """
        ]),
    Migration(9, "keyedAnswers", keyedAnswerTables),
    Migration(10, "stockMoves", StockLedger.tables),
    Migration(11, "stockOpening") { try StockLedger.open(in: $0) },
]

/// The shop's tables of release 0.1.0, whose databases record no migrations. Existing tables are left unchanged.
private let catalogTables = [
    // MARK: ProductRatings

    """
    CREATE TABLE IF NOT EXISTS productRatings(productId TEXT PRIMARY KEY, total INTEGER NOT NULL, \
    count INTEGER NOT NULL)
    """,

    // MARK: Reservations

    """
    CREATE TABLE IF NOT EXISTS reservations(id TEXT PRIMARY KEY, state TEXT NOT NULL, expiresAt INTEGER NOT NULL,
    changedAt INTEGER NOT NULL)
    """,
    "CREATE INDEX IF NOT EXISTS reservationsByExpiry ON reservations(state, expiresAt)",
    "CREATE INDEX IF NOT EXISTS reservationsByChange ON reservations(changedAt)",
    // `taken`: the pieces that the line took out of stock. Its quantity, or 0 for products whose stock is not counted.
    """
    CREATE TABLE IF NOT EXISTS reservationLines(reservationId TEXT NOT NULL, line INTEGER NOT NULL, \
    productId TEXT NOT NULL,
    quantity INTEGER NOT NULL, unitPriceMinorUnits INTEGER NOT NULL, name TEXT NOT NULL, taken INTEGER NOT NULL,
    PRIMARY KEY(reservationId, line))
    """,

    // MARK: Restocks

    "CREATE TABLE IF NOT EXISTS restocks(id TEXT PRIMARY KEY, restockedAt INTEGER NOT NULL) WITHOUT ROWID",

    // MARK: ReviewReports

    """
    CREATE TABLE IF NOT EXISTS reviewReports(
        reviewId TEXT NOT NULL, userId TEXT NOT NULL, reportedAt INTEGER NOT NULL, isOpen INTEGER NOT NULL,
        PRIMARY KEY(reviewId, userId)) WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS openReviewReports ON reviewReports(reportedAt) WHERE isOpen",
    "CREATE INDEX IF NOT EXISTS reviewReportsByUser ON reviewReports(userId)",

    // MARK: HiddenAuthors

    """
    CREATE TABLE IF NOT EXISTS hiddenAuthors(
        productId TEXT NOT NULL, userId TEXT NOT NULL, PRIMARY KEY(productId, userId)) WITHOUT ROWID
    """,
    "CREATE INDEX IF NOT EXISTS hiddenAuthorsByUser ON hiddenAuthors(userId)",

    // MARK: ProductRemoval

    "CREATE TABLE IF NOT EXISTS removedProducts(productId TEXT PRIMARY KEY) WITHOUT ROWID",
]

private let authorRenameTables = [
    """
    CREATE TABLE renamedAuthors(userId TEXT PRIMARY KEY, name TEXT NOT NULL, renamedAt INTEGER NOT NULL) WITHOUT ROWID
    """,
    "CREATE TABLE formerNames(userId TEXT NOT NULL, name TEXT NOT NULL, PRIMARY KEY(userId, name)) WITHOUT ROWID",
]
