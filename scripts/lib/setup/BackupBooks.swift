import Books
import CSQLite
import Foundation
import ParseProtocol

/// The books of a backup, read from its files while no service runs.
struct BackupBooks: BookSource {
    let folder: String
    /// The time of the backup.
    let now: Timestamp

    /// - Throws: `SetupError.invalid` for a folder without the database of bag, or without the backup's time.
    init(folder: String) throws {
        self.folder = folder
        // A copy has other times of its files.
        let manifest = FileManager.default.contents(atPath: folder + "/manifest.json").flatMap {
            try? JSON(parsing: Array($0))
        }
        guard FileManager.default.fileExists(atPath: folder + "/bag.sqlite"),
            let moment = (manifest?["moment"]?.stringValue).flatMap(Timestamp.init(iso:))
        else {
            throw SetupError.invalid(
                """
                Nothing is checked. \(folder) is no backup of scripts/backup: it has no bag.sqlite or no \
                manifest.json. Restore a backup of PostgreSQL into another shop, and run scripts/verify there.
                """)
        }
        now = moment
    }

    func answer(_ question: JSON, by service: String) async throws -> JSON {
        let file = try BookFile(path: "\(folder)/\(service).sqlite")
        let books = try ServiceBooks(isPostgreSQL: false, now: now.milliseconds, files: "\(folder)/files") {
            try file.rows($0, after: $2, limit: $3)
        }
        return try books.answer(question)
    }
}

/// A SQLite file that no process changes.
private final class BookFile {
    private let handle: OpaquePointer

    /// SQLite copies the bound bytes (`SQLITE_TRANSIENT`).
    private static let copied = unsafeBitCast(OpaquePointer(bitPattern: -1), to: sqlite3_destructor_type.self)

    /// - Throws: `SetupError.invalid` for a file that cannot be read, or that a service may be writing.
    init(path: String) throws(SetupError) {
        let log = try? FileManager.default.attributesOfItem(atPath: path + "-wal")
        guard ((log?[.size] as? NSNumber)?.intValue ?? 0) == 0 else {
            throw .invalid("\(path) is in use. Make a backup, or run scripts/verify without --backup.")
        }
        var opened: OpaquePointer?
        let name = URL(fileURLWithPath: path).absoluteString + "?immutable=1"
        let flags = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX
        guard sqlite3_open_v2(name, &opened, flags, nil) == SQLITE_OK, let connection = opened else {
            sqlite3_close_v2(opened)
            throw .invalid("\(path) cannot be opened.")
        }
        handle = connection
    }

    deinit { sqlite3_close_v2(handle) }

    /// - Parameter after: with `limit`, the parameters of the statement; nil for one without.
    /// - Throws: `SetupError.invalid` with SQLite's message.
    func rows(_ sql: String, after: String?, limit: Int64) throws(SetupError) -> [[String: BookValue]] {
        var prepared: OpaquePointer?
        guard sqlite3_prepare_v2(handle, sql, -1, &prepared, nil) == SQLITE_OK, let statement = prepared else {
            throw problem
        }
        defer { sqlite3_finalize(statement) }
        if let after {
            sqlite3_bind_text(statement, 1, after, -1, Self.copied)
            sqlite3_bind_int64(statement, 2, limit)
        }
        var rows: [[String: BookValue]] = []
        while true {
            switch sqlite3_step(statement) {
            case SQLITE_ROW: rows.append(row(of: statement))
            case SQLITE_DONE: return rows
            default: throw problem
            }
        }
    }

    private func row(of statement: OpaquePointer) -> [String: BookValue] {
        var row: [String: BookValue] = [:]
        for column in 0..<sqlite3_column_count(statement) {
            guard let name = sqlite3_column_name(statement, column) else { continue }
            switch sqlite3_column_type(statement, column) {
            case SQLITE_INTEGER: row[String(cString: name)] = .int(sqlite3_column_int64(statement, column))
            case SQLITE_TEXT:
                let text = sqlite3_column_text(statement, column).map { String(cString: $0) }
                row[String(cString: name)] = .text(text ?? "")
            case SQLITE_FLOAT:
                let whole = Int64(exactly: sqlite3_column_double(statement, column).rounded())
                row[String(cString: name)] = whole.map(BookValue.int)
            default: break
            }
        }
        return row
    }

    private var problem: SetupError { .invalid("SQLite: \(String(cString: sqlite3_errmsg(handle)))") }
}
