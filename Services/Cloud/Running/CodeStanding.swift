import MessageBus
import Messages
import ServiceKit
import Synchronization

/// The standing of the code: what is to be told to the catalog, what was, and what keeps calls from being
/// answered.
final class CodeStanding: Sendable {
    private struct State {
        var wanted: CodeDefinitions?
        var told: CodeDefinitions?
        var problem = ""
        /// Whether this process is the one that tells the catalog.
        var tells = false

        /// Code of which nobody has heard gets no calls, so that it is not in effect yet.
        var said: String {
            let isUnheard = tells && wanted != told && wanted != CodeDefinitions()
            return problem.isEmpty && isUnheard ? CodeStanding.loading : problem
        }
    }

    static let loading = "The cloud code is being loaded."
    private let state = Mutex(State())

    /// Whether it is another one than before.
    func set(_ definitions: CodeDefinitions) -> Bool {
        state.withLock { state in
            defer { state.wanted = definitions }
            return state.wanted != definitions
        }
    }

    /// Says why no code can be run; empty when it can.
    func say(_ problem: String, to bus: BusEndpoint) {
        // Under the lock, so that what is said last is what holds.
        state.withLock { state in
            state.problem = problem
            bus.setProblem(state.said)
        }
    }

    /// Until the catalog has it, what it had before counts. Runs in the writer.
    func round(_ host: ServiceHost) async throws -> BackgroundWork.Round {
        let (wanted, told) = state.withLock { state in
            if !state.tells {
                state.tells = true
                host.bus.setProblem(state.said)
            }
            return (state.wanted, state.told)
        }
        guard let wanted, wanted != told else { return .idle }
        let _: Accepted = try await host.call(HookCalls.setCode, wanted, writes: true)
        state.withLock { state in
            state.told = wanted
            host.bus.setProblem(state.said)
        }
        return .more
    }
}
