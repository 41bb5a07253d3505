import MessageBus
import Messages
import ParseProtocol
import ServiceKit
import Synchronization

/// The receiver of an outbox's messages in tests: it records messages and refuses selected ones. Messages are
/// `UserDeleted`, identified by their user.
final class Inbox: Sendable {
    struct Arrival: Sendable {
        let user: String
        let envelope: Envelope
        let time: ContinuousClock.Instant
    }

    private struct State {
        var arrivals: [Arrival] = []
        var refusals: [String: Int] = [:]
    }

    private let state = Mutex(State())

    var arrivals: [Arrival] { state.withLock { $0.arrivals } }
    var users: [String] { arrivals.map(\.user) }
    func arrivals(of user: String) -> [Arrival] { arrivals.filter { $0.user == user } }

    /// Refuses the next `times` messages about the user.
    func refuse(_ user: String, times: Int) { state.withLock { $0.refusals[user] = times } }

    /// - Returns: whether the message must be refused.
    @discardableResult
    func note(_ request: ServiceRequest) -> Bool {
        let user = (try? UserDeleted(serializedBytes: request.body))?.userID ?? "unreadable"
        let arrival = Arrival(user: user, envelope: request.envelope, time: .now)
        return state.withLock { state in
            state.arrivals.append(arrival)
            guard let left = state.refusals[user], left > 0 else { return false }
            state.refusals[user] = left - 1
            return true
        }
    }

    /// Handles the kind and answers with the outcome of each message.
    func install(_ kind: String, in routes: inout ServiceRoutes) {
        routes.task(framed: userCall(kind)) { [self] _, request in
            guard !note(request) else { throw ParseError(.validationError, "Not this one.") }
            return try BusReply(Accepted())
        }
    }
}

/// A call for these tests, whose messages are about users.
func userCall(_ kind: String) -> Call<UserDeleted, Accepted> { Call(kind) }

/// A message about the user.
func deletion(of user: String) -> UserDeleted { UserDeleted.with { $0.userID = user } }

extension ServiceHost {
    /// Commits messages about users, each under the user's name as its key.
    func send(_ kind: String, _ users: [String]) async throws {
        try await store.write { [outbox] transaction in
            for user in users { try outbox.add(userCall(kind), deletion(of: user), key: user, in: transaction) }
        }
    }
}
