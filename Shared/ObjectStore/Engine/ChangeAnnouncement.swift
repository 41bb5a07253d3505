import Logging
import ParseProtocol

/// Whether the writer of a file announces its changes to other processes before it commits them (`ChangeBoard`).
public enum ChangeAnnouncement: Sendable {
    /// No process listens. An existing board next to the file is left alone.
    case none
    /// The writer keeps a board.
    case kept
    /// The writer keeps no board and invalidates an earlier one.
    case retired

    /// The board of a starting writer, on which every counter is marked as changing; nil for none.
    ///
    /// A full disk must not prevent the shop from writing: without a board, other processes cache nothing.
    /// - Throws: `ChangeBoard.Unusable` if a board exists that other processes may trust and that cannot be opened.
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
            logger.warning(
                "The board of changes could not be kept; other processes cache nothing.",
                metadata: ["store.error": "\(error)"])
            return nil
        }
    }
}
