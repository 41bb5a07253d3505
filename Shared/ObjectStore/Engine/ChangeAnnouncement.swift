import Logging
import ParseProtocol

/// Whether the writer of a file tells other processes beforehand what it is about to change (`ChangeBoard`).
public enum ChangeAnnouncement: Sendable {
    /// There is nobody to tell; a board that may lie beside the file is left alone.
    case none
    /// It does.
    case kept
    /// It does not, and an earlier board is believed by nobody.
    case retired

    /// The board of a writer that begins, on which everything is being changed; nil for none.
    ///
    /// A disk that is full must not keep a shop from being written. Without a board nothing is kept in memory
    /// elsewhere.
    /// - Throws: `ChangeBoard.Unusable` while there is a board that others may believe and that cannot be opened.
    func board(beside database: String, _ logger: Logger) throws -> ChangeBoard? {
        let path = ChangeBoard.path(beside: database)
        do throws(ChangeBoard.Unusable) {
            switch self {
            case .none: return nil
            case .kept: return try ChangeBoard.keep(path)
            case .retired:
                try ChangeBoard.retire(path)
                return nil
            }
        } catch {
            guard !ChangeBoard.isThere(path) else { throw error }
            logger.warning("store.changes.untold", metadata: ["store.error": "\(error)"])
            return nil
        }
    }
}
