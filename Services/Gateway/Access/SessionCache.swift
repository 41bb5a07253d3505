import MessageBus
import Messages
import ParseProtocol
import Synchronization

/// The gateway's cache of sessions: the principal of each token, until `users` invalidates it.
///
/// `users` puts the invalidations into the reply of the call that made the change, and the broker applies them before
/// it passes that reply on. A revoked session is therefore invalid when the revoking call returns. With several
/// gateways, `users` informs the others first, and each gateway trusts its cache only under a lease
/// (docs/guides/gateways.md). Without a valid lease the gateway asks `users` for every request.
final class SessionCache: Sendable {
    private struct Entry {
        let principal: Principal
        let validUntil: Int64
    }

    private struct State {
        var entries: [String: Entry] = [:]
        /// The tokens in `entries` by user, so that invalidating one user does not scan all entries.
        var tokens: [String: Set<String>] = [:]
        /// Counts invalidations. A reply of `users` that was in flight during one may be stale and is not cached.
        var generation = 0

        mutating func clear() {
            entries.removeAll()
            tokens.removeAll()
        }
    }

    /// At about 300 bytes each, 30 MB at most. A full cache is emptied.
    private static let entriesMax = 100_000
    /// Bounds the staleness after changes that send no message, such as an operator's edit of the database.
    private static let lifetime = Duration.seconds(60)

    /// Whether the entries may be trusted.
    private let lease: CacheLease
    private let state = Mutex(State())

    init(lease: CacheLease = .endless) { self.lease = lease }

    /// The cached principal, or the generation to pass to `keep`.
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
