import ParseProtocol
import Synchronization
import TestSupport

/// A history that writers, subscribers and tasks that change rights record together, with this process's monotonic
/// clock.
final class HistoryRecorder: Sendable {
    private struct State {
        var writes: [LiveHistory.Write] = []
        var listenings: [(listening: LiveHistory.Listening, user: Int?)] = []
        /// Changes of role membership, in the order of the calls.
        var memberships: [(user: Int, span: LiveHistory.Span, isMember: Bool)] = []
        var revocations: [Int: LiveHistory.Span] = [:]
        var isWritten = false
        var doneCount = 0
    }

    private let state = Mutex(State())
    private let start = ContinuousClock.now
    private let role: String

    init(role: String) { self.role = role }

    /// Nanoseconds since the recorder was created.
    var now: LiveHistory.Moment {
        let time = (ContinuousClock.now - start).components
        return time.seconds * 1_000_000_000 + time.attoseconds / 1_000_000_000
    }

    /// The time from `begin` to now.
    func span(from begin: LiveHistory.Moment) -> LiveHistory.Span { .init(begin, now) }

    // MARK: Writers

    var writeCount: Int { state.withLock { $0.writes.count } }
    /// Whether all writes are done, except those that show that all events were delivered.
    var isWritten: Bool { state.withLock { $0.isWritten } }

    func wrote(_ write: LiveHistory.Write) { state.withLock { $0.writes.append(write) } }
    func finishWriting() { state.withLock { $0.isWritten = true } }

    // MARK: Rights

    func changed(_ user: Int, isMember: Bool, from begin: LiveHistory.Moment) {
        let span = span(from: begin)
        state.withLock { $0.memberships.append((user, span, isMember)) }
    }

    func revoked(_ user: Int, from begin: LiveHistory.Moment) {
        let span = span(from: begin)
        state.withLock { $0.revocations[user] = span }
    }

    // MARK: Subscribers

    /// - Parameter user: the number of the user whose rights the subscription has, if any.
    /// - Returns: the subscription's number.
    func began(_ listening: LiveHistory.Listening, user: Int?) -> Int {
        state.withLock { state in
            state.listenings.append((listening, user))
            return state.listenings.count - 1
        }
    }

    func resumed(_ number: Int, from begin: LiveHistory.Moment) {
        let span = span(from: begin)
        state.withLock { state in
            let count = state.listenings[number].listening.events.count
            state.listenings[number].listening.resumed.append((span, count))
        }
    }

    func told(_ number: Int, _ event: LiveHistory.Event) {
        state.withLock { $0.listenings[number].listening.events.append(event) }
    }

    func ended(_ number: Int, _ end: LiveHistory.End) {
        state.withLock { $0.listenings[number].listening.end = end }
    }

    // MARK: The end

    /// The subscribers that receive no more events.
    var doneCount: Int { state.withLock { $0.doneCount } }
    func done() { state.withLock { $0.doneCount += 1 } }

    /// The history, with the rights changes of each reader.
    var recorded: LiveHistory {
        state.withLock { state in
            var history = LiveHistory()
            history.writes = state.writes
            history.listenings = state.listenings.map { listening, user in
                var listening = listening
                guard let user else { return listening }
                listening.reader.changes = state.memberships.filter { $0.user == user }
                    .map { ($0.span, $0.isMember ? [role] : []) }
                listening.reader.revoked = state.revocations[user]
                return listening
            }
            return history
        }
    }
}
