import MessageBus
import Messages
import ServiceKit
import Synchronization

/// The registration state of the code: the definitions that it has (`wanted`), those registered with the catalog
/// (`registered`), and the problem that prevents calls.
final class CodeRegistration: Sendable {
    private struct State {
        var wanted: CodeDefinitions?
        var registered: CodeDefinitions?
        var problem = ""

        /// The reported problem. Until it is registered with the catalog, a version gets no calls, so the writer
        /// reports it as loading.
        func reportedProblem(asWriter isWriter: Bool) -> String {
            let isUnregistered = isWriter && wanted != registered && wanted != CodeDefinitions()
            return problem.isEmpty && isUnregistered ? CodeRegistration.loading : problem
        }
    }

    static let loading = "The cloud code is being loaded."
    private let state = Mutex(State())
    /// Whether this process registers the definitions.
    private let isWriter: @Sendable () -> Bool

    init(isWriter: @escaping @Sendable () -> Bool) { self.isWriter = isWriter }

    /// Stores the definitions; returns whether they changed.
    func set(_ definitions: CodeDefinitions) -> Bool {
        state.withLock { state in
            defer { state.wanted = definitions }
            return state.wanted != definitions
        }
    }

    /// Reports why no code can run; an empty text when it can.
    func report(_ problem: String, to bus: BusEndpoint) {
        // Under the lock, so that the last reported problem is the current one.
        state.withLock { state in
            state.problem = problem
            bus.setProblem(state.reportedProblem(asWriter: isWriter()))
        }
    }

    /// Registers the definitions with the catalog; until then the previous ones are valid. Runs in the writer.
    /// - Parameter request: the request that waits for it; nil in the background.
    func round(_ host: ServiceHost, for request: ServiceRequest?) async throws -> BackgroundWork.Round {
        let (wanted, registered) = state.withLock { state in
            host.bus.setProblem(state.reportedProblem(asWriter: true))
            return (state.wanted, state.registered)
        }
        guard let wanted, wanted != registered else { return .idle }
        let _: Accepted = try await host.call(HookCalls.setCode, wanted, for: request, writes: true)
        state.withLock { state in
            state.registered = wanted
            host.bus.setProblem(state.reportedProblem(asWriter: true))
        }
        return .more
    }
}
