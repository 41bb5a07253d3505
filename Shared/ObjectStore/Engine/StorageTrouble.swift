import Foundation
import Logging
import ParseProtocol
import Synchronization

/// The trouble that prevents the writer from storing.
public enum StorageTrouble: String, Sendable {
    case full = "The disk is full."
    case failing = "The disk fails."
    case readOnly = "The disk or the file is read-only."
    case forbidden = "A file has the wrong owner or permissions."
    /// Reads and writes of other pages still succeed, so a successful write proves no recovery.
    case damaged = "The database is damaged."
    /// A text or geo index of SQLite, which the writer builds anew from the objects (`renewIndexes`).
    case index = "An index is damaged."
    case unreachable = "The database does not answer."
    case noConnection = "The database has no free connection."
    case readOnlyServer = "The database server accepts only reads."
    case outOfResources = "The database is at a limit of its memory, files or settings."
    case stuck = "Writes wait for the database: for its disk, for a standby or for another program's lock."

    /// PostgreSQL's codes for failures of the server's disk, the ends of connections, and limits of the server. Codes
    /// of connection failures begin with 08.
    private static let states: [String: StorageTrouble] = [
        "53100": .full, "58030": .failing, "57P01": .unreachable, "57P02": .unreachable, "57P03": .unreachable,
        "57P04": .unreachable, "57P05": .unreachable, "53300": .noConnection, "25006": .readOnlyServer,
        "53000": .outOfResources, "53200": .outOfResources, "53400": .outOfResources,
    ]

    /// The trouble of a failed connection. libpq gives no code for it, only a text for each server: its own for one
    /// that is read-only, the server's for 53300. A server with another `lc_messages` than English counts as
    /// unreachable. If one of several servers does not answer, that is the trouble: the others are its standbys.
    private static func ofFailedConnection(_ text: String) -> StorageTrouble {
        let full = ["too many clients", "too many connections", "connection slots are reserved"]
        if full.contains(where: { text.contains($0) }) { return .noConnection }
        let failures = text.components(separatedBy: " failed: ").dropFirst()
        return failures.allSatisfy { $0.hasPrefix("session is read-only") } && !failures.isEmpty
            ? .readOnlyServer : .unreachable
    }

    /// The result codes are SQLite's, with any extended code (https://www.sqlite.org/rescode.html).
    package init?(_ error: any Error) {
        guard let error = error as? StoreError else { return nil }
        if let trouble = Self.states[error.sqlState] {
            self = trouble
            return
        }
        if error.sqlState.hasPrefix("08") {
            self = Self.ofFailedConnection(error.message)
            return
        }
        // SQLITE_CORRUPT_VTAB: FTS5 and R*Tree report damage of their own tables.
        if error.resultCode == 267 {
            self = .index
            return
        }
        switch error.resultCode & 0xFF {
        // SQLITE_FULL; SQLITE_IOERR, SQLITE_CANTOPEN; SQLITE_READONLY; SQLITE_PERM; SQLITE_CORRUPT, SQLITE_NOTADB.
        case 13: self = .full
        case 10, 14: self = .failing
        case 8: self = .readOnly
        case 3: self = .forbidden
        case 11, 26: self = .damaged
        default: return nil
        }
    }

    /// What the operator has to do. Afterwards the writer continues by itself; after a restore the service has to be
    /// started.
    /// - Parameter path: the database's name in the log.
    package func remedy(for path: String) -> String {
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        return switch self {
        case .full: "Make room: df -h \(folder)"
        case .failing: "dmesg names the fault. On another disk: scripts/restore FOLDER"
        case .readOnly: "dmesg names the reason; then: mount -o remount,rw $(findmnt -no TARGET -T \(folder))"
        case .forbidden: "chown -R \(getuid()) \(folder) && chmod -R u+rwX \(folder)"
        case .damaged: "scripts/restore --replace FOLDER"
        case .index: "The writer builds it anew. If queries still fail after that: scripts/restore --replace FOLDER"
        case .noConnection: "Raise max_connections (docs/guides/postgresql.md). pg_stat_activity lists the connections."
        case .readOnlyServer: "Name a server that writes, or see SHOW default_transaction_read_only on this one."
        case .unreachable, .outOfResources, .stuck: "See the server's log and docs/guides/postgresql.md."
        }
    }
}

/// The health of a store's disk: whether the last write reached it. For a disk failure clients get
/// `.serviceUnavailable` (2): nothing was stored, and a retry may succeed.
package final class StorageHealth: Sendable {
    private struct State: Equatable {
        /// The trouble that a successful write ends.
        var passing: StorageTrouble?
        /// Whether damage was found. A new process does not know of it.
        var isDamaged = false
        /// Whether damage of an index was found.
        var isIndexDamaged = false

        var trouble: StorageTrouble? { passing ?? (isDamaged ? .damaged : nil) }
    }

    private let path: String
    private let logger: Logger
    private let state = Mutex(State())
    private let listener = Mutex<(@Sendable () -> Void)?>(nil)
    private let indexListener = Mutex<(@Sendable () -> Void)?>(nil)

    /// - Parameter path: the database's name in the log.
    package init(path: String, logger: Logger) {
        self.path = path
        self.logger = logger
    }

    package var trouble: StorageTrouble? { state.withLock { $0.trouble } }

    /// - Parameter listener: called when trouble begins, on the thread that detects it.
    package func onTrouble(_ listener: @escaping @Sendable () -> Void) { self.listener.withLock { $0 = listener } }

    /// - Parameter listener: called for each use of a damaged index, on the thread that detects it.
    func onDamagedIndex(_ listener: @escaping @Sendable () -> Void) { indexListener.withLock { $0 = listener } }

    /// The error that the waiting client gets.
    func clientError(for error: any Error) -> any Error {
        guard let trouble = note(error) else { return error }
        return ParseError(.serviceUnavailable, "Nothing can be stored now. \(trouble.rawValue)")
    }

    /// Records trouble, and logs it when it begins.
    /// - Returns: nil for an error of another kind.
    @discardableResult
    package func note(_ error: any Error) -> StorageTrouble? {
        guard let trouble = StorageTrouble(error) else { return nil }
        let isNew = state.withLock { state in
            let before = state
            switch trouble {
            case .damaged: state.isDamaged = true
            case .index: state.isIndexDamaged = true
            default: state.passing = trouble
            }
            return state != before
        }
        if trouble == .index { indexListener.withLock { $0 }?() }
        guard isNew else { return trouble }
        logger.error(
            trouble == .damaged || trouble == .index
                ? "\(trouble.rawValue)" : "The service cannot write to its database.",
            metadata: [
                "store.trouble": "\(trouble.rawValue)", "store.path": "\(path)", "store.error": "\(error)",
                "store.remedy": "\(trouble.remedy(for: path))",
            ])
        // Writes that do not use the index succeed.
        if trouble != .index { listener.withLock { $0 }?() }
        return trouble
    }

    package func recovered() {
        let before = state.withLock { state in
            defer { state.passing = nil }
            return state.passing
        }
        if before != nil {
            logger.notice("The service can write to its database again.", metadata: ["store.path": "\(path)"])
        }
    }
}
