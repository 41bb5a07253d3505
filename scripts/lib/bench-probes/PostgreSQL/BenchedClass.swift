import ArgumentParser
import CPostgreSQL
import Foundation
import Logging
import ObjectStore
import ParseProtocol

/// The measured operation.
enum PostgreSQLWork: String, ExpressibleByArgument {
    case read, create
}

struct PostgreSQLOptions: ParsableArguments {
    @Argument(help: "read: an object by its id; create: one row or object, committed.") var work: PostgreSQLWork
    @Option(help: "A connection string.") var connection: String
    @Option var seconds = 2.0
    @Option(help: "Statements, or calls of the store, under way at once.") var connections = 64
}

/// The class whose rows are read and created, with libpq and with the store.
enum BenchedClass {
    static let name = "BenchNote"
    static let schema = "satchel_bench"
    private static let rows = 10_000

    struct Place {
        let schema: String
        /// The table of the class, with its schema.
        let table: String
        let ids: [String]
    }

    /// An object of about 600 bytes, as in the other write benchmarks.
    static let object: JSON = [
        "title": "Note 1", "note": .string(String(repeating: "A note of a benchmark. ", count: 20)), "rank": 1,
        "done": false,
    ]

    /// The text that the store saves for such an object.
    static let document = """
        {"createdAt":"2026-01-01T00:00:00.000Z","done":false,"note":"\
        \(String(repeating: "A note of a benchmark. ", count: 20))","objectId":"abcdefghij","rank":1,\
        "title":"Note 1","updatedAt":"2026-01-01T00:00:00.000Z"}
        """

    /// The store's SQL for a read of an object by a signed-in user.
    static func readingWithRights(_ place: Place) -> String {
        let rights = place.table.replacing(".o", with: ".p", maxReplacements: 1)
        return """
            SELECT o.doc, o.publicread, (SELECT generation FROM \(place.schema).storestate) FROM \(place.table) o \
            WHERE o.objectid = $1 AND (o.publicread OR EXISTS(SELECT 1 FROM \(rights) p \
            WHERE p.principal = 'benchUser1' AND p.object = o.id AND p.canread))
            """
    }

    /// The rest of an INSERT into the class's table, with the id and the document as parameters.
    static let insertion = """
        (objectid, createdat, updatedat, publicread, publicwrite, doc, data) \
        VALUES ($1, 1767225600000, 1767225600000, true, true, $2::text, $2::text::jsonb)
        """

    static func newId() -> String { Names.objectId() }

    /// The store, as its writer.
    static func store(_ connection: String) async throws -> ClassStore {
        let store = try ClassStore(
            .postgresql(PostgreSQLDatabase(connection: connection, schema: schema)), classes: [],
            allowClassCreation: true, allowCustomObjectId: false,
            logger: Logger(label: "bench") { _ in SwiftLogNoOpLogHandler() })
        await withCheckedContinuation { continuation in store.startWriting { continuation.resume() } }
        return store
    }

    /// Creates the class and its objects if they are missing.
    static func prepare(_ connection: String) async throws {
        let store = try await store(connection)
        defer { store.stop() }
        let there = try await store.read(for: nil) { $0.hasClass(name) }
        guard !there else { return }
        for _ in 0..<(rows / 100) {
            try await store.write(for: nil) { transaction in
                for _ in 0..<100 { _ = try transaction.create(name, object, caller: .anonymous) }
            }
        }
        _ = try answers("ANALYZE", of: connection)
    }

    /// The table and the ids of existing objects.
    static func place(_ connection: String) throws -> Place {
        let number = try answers("SELECT id FROM \(schema).classes WHERE name = '\(name)'", of: connection).first
        guard let number else { throw ValidationError("There is no such class yet; run prepare-postgresql.") }
        let table = "\(schema).o\(number)"
        let ids = try answers("SELECT objectid FROM \(table) ORDER BY id LIMIT \(rows)", of: connection)
        return Place(schema: schema, table: table, ids: ids)
    }

    /// Creates an empty table with the columns and indexes of the class's table.
    static func makeRawTable(_ place: Place, _ connection: String) throws {
        _ = try answers(
            """
            DROP TABLE IF EXISTS \(place.schema).raw;
            CREATE TABLE \(place.schema).raw (LIKE \(place.table) INCLUDING ALL)
            """, of: connection)
    }

    /// The first column of each row.
    private static func answers(_ sql: String, of connection: String) throws -> [String] {
        let handle = PQconnectdb(connection)
        defer { PQfinish(handle) }
        let result = PQexec(handle, sql)
        defer { PQclear(result) }
        guard [PGRES_COMMAND_OK, PGRES_TUPLES_OK].contains(PQresultStatus(result)) else {
            throw ValidationError("The server did not take it: \(String(cString: PQerrorMessage(handle)))")
        }
        return (0..<PQntuples(result)).compactMap { PQgetvalue(result, $0, 0).map { String(cString: $0) } }
    }
}

/// Creates the objects for the other two commands.
struct PreparePostgreSQL: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "prepare-postgresql", abstract: "Makes the objects that raw-postgresql and store-postgresql read.")

    @Option(help: "A connection string.") var connection: String

    func run() async throws { try await BenchedClass.prepare(connection) }
}
