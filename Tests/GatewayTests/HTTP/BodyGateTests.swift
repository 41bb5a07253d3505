import GatewayService
import Synchronization
import TestSupport
import Testing

/// The fair queue of large bodies, tested with requests. Id T7 of docs/internals/hardening.md.
@Suite struct BodyGateTests {
    /// An object that lives as long as the request's task, like its reservation of answer memory.
    final class Held: Sendable {
        private let end: End

        init(_ end: End) { self.end = end }
        deinit { end.hasCome.store(true, ordering: .relaxed) }
    }

    final class End: Sendable {
        let hasCome = Atomic(false)
    }

    @TaskLocal static var held: Held?

    /// The request that finds the queue empty starts to serve it, and ends although the serving continues for later
    /// requests.
    @Test func aServedBodyReleasesItsResources() async throws {
        let gate = BodyGate(share: 1)
        let milliseconds: UInt64 = 1_000_000
        try await gate.turn(of: "a", work: 2000 * milliseconds)
        let end = End()
        let first = Task {
            try await Self.$held.withValue(Held(end)) {
                try await gate.turn(of: "b", work: 2500 * milliseconds)
            }
        }
        try await eventually("the first waits") { await gate.waitingCount == 1 }
        let second = Task { try await gate.turn(of: "c", work: 1) }
        try await eventually("the second waits behind it") { await gate.waitingCount == 2 }
        let hasEnded = end.hasCome.load(ordering: .relaxed)
        #expect(!hasEnded)
        try await first.value
        // From here on, the second request waits for some seconds.
        try await eventually("nothing of the first is held", within: .milliseconds(1500)) {
            end.hasCome.load(ordering: .relaxed)
        }
        try await second.value
    }
}
