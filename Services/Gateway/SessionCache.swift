import Messages
import ParseProtocol
import Synchronization

/// Who is behind a session token, for as long as `users` has not said otherwise.
///
/// `users` puts what must be forgotten into the reply of the call that changed it, and the broker applies it before that reply
/// goes anywhere: a revoked session is dead when the call that revoked it returns.
final class SessionCache: Sendable {
    private struct Entry {
        let principal: Principal
        let validUntil: Int64
    }

    private struct State {
        var entries: [String: Entry] = [:]
        /// Counts the forgettings. An answer of `users` that was under way meanwhile may be old and is not kept.
        var generation = 0
    }

    /// At about 300 bytes each, 30 MB at most. Beyond it everything is looked up again.
    private static let entriesMax = 100_000
    /// A bound for what changes without a message, such as an operator editing the database.
    private static let lifetime = Duration.seconds(60)

    private let state = Mutex(State())

    /// The cached principal, or the generation to give to `keep`.
    func find(_ token: String, now: Timestamp = .now) -> (principal: Principal?, generation: Int) {
        state.withLock { state in
            guard let entry = state.entries[token], entry.validUntil > now.milliseconds else {
                return (nil, state.generation)
            }
            return (entry.principal, state.generation)
        }
    }

    func keep(_ principal: Principal, expiresAt: Int64, generation: Int, now: Timestamp = .now) {
        state.withLock { state in
            guard state.generation == generation else { return }
            if state.entries.count >= Self.entriesMax { state.entries.removeAll() }
            state.entries[principal.sessionToken] = Entry(
                principal: principal, validUntil: min(expiresAt, now.advanced(by: Self.lifetime).milliseconds))
        }
    }

    func forget(_ forget: Forget) {
        state.withLock { state in
            state.generation += 1
            if forget.everything { state.entries.removeAll() }
            for token in forget.sessionTokens { state.entries[token] = nil }
            if !forget.userIds.isEmpty {
                let users = Set(forget.userIds)
                state.entries = state.entries.filter { !users.contains($0.value.principal.userID) }
            }
        }
    }
}
