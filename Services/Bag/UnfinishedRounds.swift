import Synchronization

/// Chooses the stored work that a round resumes, where rounds repeat: at first all of it, and later what the round
/// before found too. Other work has just begun, and its request drives it.
final class UnfinishedRounds: Sendable {
    private let before = Mutex<Set<String>?>(nil)

    /// - Parameter ids: of all unfinished work.
    func due(_ ids: [String]) -> [String] {
        before.withLock { before in
            let known = before
            before = Set(ids)
            return ids.filter { known?.contains($0) ?? true }
        }
    }
}
