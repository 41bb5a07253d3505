import CloudService
import ParseProtocol
import Synchronization
import Testing

/// How a replica loads a version that another replica took.
@Suite struct VersionFollowerTests {
    /// Loads of a version, which end with these errors and then succeed.
    private final class Loads: Sendable {
        private struct State {
            var errors: [ParseError]
            var count = 0
            var isLoaded = false
        }

        private let state: Mutex<State>

        init(failing errors: [ParseError]) { state = Mutex(State(errors: errors)) }

        var count: Int { state.withLock { $0.count } }
        var isLoaded: Bool { state.withLock { $0.isLoaded } }

        func load() throws {
            let error = state.withLock { state -> ParseError? in
                state.count += 1
                guard state.errors.isEmpty else { return state.errors.removeFirst() }
                state.isLoaded = true
                return nil
            }
            if let error { throw error }
        }
    }

    private static func followed(_ loads: Loads) -> VersionFollower {
        VersionFollower(taken: { 1 }, runs: { _ in loads.isLoaded }, take: { _ in try loads.load() })
    }

    @Test func aVersionIsLoadedOnce() async throws {
        let loads = Loads(failing: [])
        let followed = Self.followed(loads)
        for _ in 0..<3 { try await followed.look() }
        #expect(loads.count == 1)
    }

    @Test func aTemporaryErrorIsRetried() async throws {
        let loads = Loads(failing: [ParseError(.serviceUnavailable, "Another version is on trial.")])
        let followed = Self.followed(loads)
        await #expect(throws: ParseError.self) { try await followed.look() }
        try await followed.look()
        #expect(loads.isLoaded)
    }

    @Test func aVersionThatDoesNotLoadIsTriedOnce() async throws {
        let loads = Loads(failing: [ParseError(.scriptFailed, "The code does not load.")])
        let followed = Self.followed(loads)
        await #expect(throws: ParseError.self) { try await followed.look() }
        try await followed.look()
        #expect(loads.count == 1)
    }
}
