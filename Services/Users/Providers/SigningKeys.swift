import ParseProtocol
import Synchronization

/// Decides when to fetch a provider's published keys. Keys change every few weeks. A token with an unknown key may mean
/// that they just changed, or that the token is forged.
package struct KeySchedule: Sendable {
    package enum Answer: Equatable, Sendable {
        case key(JSON)
        case fetch
        case unknown
    }

    private var keys: [String: JSON] = [:]
    private var fetchedAt: Timestamp?
    private var triedAt: Timestamp?
    private var surprisedAt: Timestamp?

    /// Keys are fresh for an hour, as the providers' headers say; if the provider is unreachable, they are used for a
    /// day.
    private static let fresh = Duration.seconds(3600)
    private static let usable = Duration.seconds(86_400)
    /// Unknown keys cause at most one fetch per minute; after a failure the next fetch is 5 s later.
    private static let surprisePause = Duration.seconds(60)
    private static let failurePause = Duration.seconds(5)
    private static let keysMax = 64

    package init() {}

    /// Decides how to handle a token with this key id.
    package mutating func wanted(_ keyId: String, at now: Timestamp) -> Answer {
        guard let fetchedAt, fetchedAt.advanced(by: Self.usable) > now else {
            return mayTry(at: now) ? .fetch : .unknown
        }
        if fetchedAt.advanced(by: Self.fresh) <= now, mayTry(at: now) { return .fetch }
        if let key = keys[keyId] { return .key(key) }
        if let surprisedAt, surprisedAt.advanced(by: Self.surprisePause) > now { return .unknown }
        surprisedAt = now
        return .fetch
    }

    /// The cached key; nil when there is none.
    package func known(_ keyId: String, at now: Timestamp) -> JSON? {
        guard let fetchedAt, fetchedAt.advanced(by: Self.usable) > now else { return nil }
        return keys[keyId]
    }

    /// Whether usable keys are cached.
    package func isUsable(at now: Timestamp) -> Bool {
        fetchedAt.map { $0.advanced(by: Self.usable) > now } ?? false
    }

    /// - Returns: false for an answer that is not a key set; the old keys remain.
    package mutating func fetched(_ answer: JSON, at now: Timestamp) -> Bool {
        triedAt = nil
        var fetched: [String: JSON] = [:]
        for key in (answer["keys"]?.arrayValue ?? []).prefix(Self.keysMax) {
            if let keyId = key["kid"]?.stringValue { fetched[keyId] = key }
        }
        guard !fetched.isEmpty else { return false }
        keys = fetched
        fetchedAt = now
        return true
    }

    package mutating func failed(at now: Timestamp) { triedAt = now }

    private func mayTry(at now: Timestamp) -> Bool {
        triedAt.map { $0.advanced(by: Self.failurePause) <= now } ?? true
    }
}

/// A provider's published keys (JWKS), fetched according to the schedule. Concurrent callers wait for a running fetch.
actor SigningKeys {
    private let fetch: @Sendable () async throws(ProviderProblem) -> JSON
    private var schedule = KeySchedule()
    private var underWay: Task<ProviderProblem?, Never>?

    init(fetch: @escaping @Sendable () async throws(ProviderProblem) -> JSON) { self.fetch = fetch }

    /// - Throws: `refused` for a key that the provider does not have, `unavailable` when it is not reachable.
    func key(_ keyId: String) async throws(ProviderProblem) -> JSON {
        if let underWay { _ = await underWay.value }
        switch schedule.wanted(keyId, at: .now) {
        case .key(let key): return key
        case .unknown: throw problem()
        case .fetch: break
        }
        let task = underWay ?? Task { await load() }
        underWay = task
        let failure = await task.value
        underWay = nil
        if let key = schedule.known(keyId, at: .now) { return key }
        throw failure ?? problem()
    }

    private func problem() -> ProviderProblem {
        schedule.isUsable(at: .now) ? .refused("An unknown key.") : .unavailable("No keys are known.")
    }

    private func load() async -> ProviderProblem? {
        do throws(ProviderProblem) {
            let answer = try await fetch()
            guard schedule.fetched(answer, at: .now) else {
                schedule.failed(at: .now)
                return .unavailable("The answer is not a key set.")
            }
            return nil
        } catch {
            schedule.failed(at: .now)
            // A 4xx for the URL of the keys says nothing about the token.
            if case .refused(let why) = error { return .unavailable(why) }
            return error
        }
    }
}
