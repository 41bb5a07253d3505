import ParseProtocol
import Synchronization

/// The trouble that prevents the writer from storing.
public enum StorageTrouble: String, Sendable {
    case full = "The disk is full."
    case failing = "The disk fails."
    case away = "The database does not answer."
    case short = "The database is out of memory or connection slots."
    case stuck = "Writes wait for the database: for its disk, for a standby or for another program's lock."

    /// PostgreSQL's codes for a disk that is full or fails, and for a server that stops, starts, has no memory or
    /// connection slot left, or is read-only. Codes of connection failures begin with 08.
    private static let states: [String: StorageTrouble] = [
        "53100": .full, "58030": .failing, "57P01": .away, "57P02": .away, "57P03": .away, "53300": .away,
        "25006": .away, "53200": .short, "53400": .short,
    ]

    /// SQLITE_FULL; SQLITE_IOERR and SQLITE_CANTOPEN with any extended code (https://www.sqlite.org/rescode.html).
    package init?(_ error: any Error) {
        guard let error = error as? StoreError else { return nil }
        if let trouble = Self.states[error.sqlState] ?? (error.sqlState.hasPrefix("08") ? .away : nil) {
            self = trouble
            return
        }
        switch error.resultCode & 0xFF {
        case 13: self = .full
        case 10, 14: self = .failing
        default: return nil
        }
    }
}

/// The health of a store's disk: whether the last write reached it. For a disk failure clients get
/// `.serviceUnavailable` (2): nothing was stored, and a retry may succeed.
final class StorageHealth: Sendable {
    private let state = Mutex<StorageTrouble?>(nil)
    private let hearer = Mutex<(@Sendable () -> Void)?>(nil)

    var trouble: StorageTrouble? { state.withLock { $0 } }

    /// - Parameter hearer: called when trouble begins, on the thread that detects it.
    func onTrouble(_ hearer: @escaping @Sendable () -> Void) { self.hearer.withLock { $0 = hearer } }

    /// The error that the waiting client gets.
    func told(_ error: any Error) -> any Error {
        guard let trouble = StorageTrouble(error) else { return error }
        let shouldReport = state.withLock { state in
            defer { state = trouble }
            return state == nil
        }
        if shouldReport { hearer.withLock { $0 }?() }
        return ParseError(.serviceUnavailable, "Nothing can be stored now. \(trouble.rawValue)")
    }

    func recovered() { state.withLock { $0 = nil } }
}
