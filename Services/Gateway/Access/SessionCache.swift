import MessageBus
import Messages
import ParseProtocol
import Synchronization

/// The gateway's cache of sessions: who is behind each token, for as long as `users` has not said otherwise.
///
/// `users` puts what must be forgotten into the reply of the call that changed it, and the broker applies it before
/// that reply goes anywhere: a revoked session is dead when the call that revoked it returns. Where there are several
/// gateways, `users` tells the others first, and each believes what is here under a lease alone (docs/gateways.md):
/// without one, `users` is asked for every request.
final class SessionCache: Sendable {
    private struct Entry {
        let principal: Principal
        let validUntil: Int64
    }

    private struct State {
        var entries: [String: Entry] = [:]
        /// The tokens in `entries` by user, so that forgetting one user does not look at everybody.
        var tokens: [String: Set<String>] = [:]
        /// Counts the forgettings. An answer of `users` that was under way meanwhile may be old and is not kept.
        var generation = 0

        mutating func clear() {
            entries.removeAll()
            tokens.removeAll()
        }
    }

    /// At about 300 bytes each, 30 MB at most. Beyond it everything is looked up again.
    private static let entriesMax = 100_000
    /// A bound for what changes without a message, such as an operator editing the database.
    private static let lifetime = Duration.seconds(60)

    /// Whether what is here may be believed.
    private let lease: KnowledgeLease
    private let state = Mutex(State())

    init(lease: KnowledgeLease = .endless) { self.lease = lease }

    /// The cached principal, or the generation to give to `keep`.
    func find(_ token: String, now: Timestamp = .now) -> (principal: Principal?, generation: Int) {
        state.withLock { state in
            guard let entry = state.entries[token], entry.validUntil > now.milliseconds, lease.isValid else {
                return (nil, state.generation)
            }
            return (entry.principal, state.generation)
        }
    }

    func keep(_ principal: Principal, expiresAt: Int64, generation: Int, now: Timestamp = .now) {
        state.withLock { state in
            guard state.generation == generation else { return }
            if state.entries.count >= Self.entriesMax { state.clear() }
            state.tokens[principal.userID, default: []].insert(principal.sessionToken)
            state.entries[principal.sessionToken] = Entry(
                principal: principal, validUntil: min(expiresAt, now.advanced(by: Self.lifetime).milliseconds))
        }
    }

    func forget(_ forget: Forget) {
        state.withLock { state in
            state.generation += 1
            if forget.everything { state.clear() }
            for userId in forget.userIds {
                for token in state.tokens.removeValue(forKey: userId) ?? [] { state.entries[token] = nil }
            }
        }
    }
}
