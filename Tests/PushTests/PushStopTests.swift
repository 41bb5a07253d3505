import Logging
import ObjectStore
import ParseProtocol
import PushService
import ServiceKit
import Synchronization
import TestSupport
import Testing

/// A sender that is stopped while a slow provider has notifications in progress, and one that cannot read a delivery.
@Suite struct PushStopTests {
    /// Answers only when the test triggers it.
    private final class SlowProvider: PushProvider {
        private struct State {
            var seen: [String] = []
            var waiting: [CheckedContinuation<ProviderAnswer, Never>] = []
            var isAnswering = false
        }

        private let state = Mutex(State())

        /// The device tokens of all sends, with repetitions.
        var seen: [String] { state.withLock { $0.seen } }

        func send(_ delivery: Delivery) async -> ProviderAnswer {
            await withCheckedContinuation { (continuation: CheckedContinuation<ProviderAnswer, Never>) in
                let isAnswering = state.withLock { state -> Bool in
                    state.seen.append(delivery.token)
                    if !state.isAnswering { state.waiting.append(continuation) }
                    return state.isAnswering
                }
                if isAnswering { continuation.resume(returning: .accepted) }
            }
        }

        func answer() {
            let waiting = state.withLock { state -> [CheckedContinuation<ProviderAnswer, Never>] in
                state.isAnswering = true
                defer { state.waiting = [] }
                return state.waiting
            }
            for continuation in waiting { continuation.resume(returning: .accepted) }
        }
    }

    private static func sender(
        _ fixture: PushStoreTests.Fixture, _ provider: SlowProvider, _ group: BackgroundGroup
    ) -> PushSender {
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        let sender = PushSender(store: fixture.store, provider: provider, background: group, logger: logger)
        group.begin { await sender.work.run() }
        return sender
    }

    @Test(.timeLimit(.minutes(10))) func stoppingRecordsSentPushesAndLeavesTheRest() async throws {
        let fixture = try await PushStoreTests.Fixture()
        try await fixture.install(300)
        let id = try await fixture.push()
        _ = try await fixture.spread(id)
        let provider = SlowProvider()
        let group = BackgroundGroup()
        let sender = Self.sender(fixture, provider, group)
        try await eventually("as many as may be are with the provider") { provider.seen.count == 200 }

        async let stopped: Void = sender.stop(within: .seconds(50))
        // Some answers arrive only after the stop began.
        provider.answer()
        await stopped
        await group.stop(within: .seconds(1))
        let left = try await fixture.count("SELECT count(*) FROM deliveries")
        #expect(left == 300 - Int64(provider.seen.count))

        // The next process.
        let next = BackgroundGroup()
        _ = Self.sender(fixture, provider, next)
        try await eventually("all were sent") { try await fixture.count("SELECT count(*) FROM deliveries") == 0 }
        await next.stop(within: .seconds(1))
        #expect(provider.seen.count == 300)
        #expect(Set(provider.seen).count == 300)
    }

    @Test(.timeLimit(.minutes(10))) func aProviderThatNeverAnswersIsNotWaitedForLongerThanSaid() async throws {
        let fixture = try await PushStoreTests.Fixture()
        try await fixture.install(2)
        let id = try await fixture.push()
        _ = try await fixture.spread(id)
        let provider = SlowProvider()
        let group = BackgroundGroup()
        let sender = Self.sender(fixture, provider, group)
        try await eventually("both are with the provider") { provider.seen.count == 2 }
        await sender.stop(within: .milliseconds(50))
        await group.stop(within: .milliseconds(50))
        // Their outcome is unknown, so they remain.
        #expect(try await fixture.count("SELECT count(*) FROM deliveries") == 2)
        provider.answer()
    }

    @Test(.timeLimit(.minutes(10))) func aPushEndsAlthoughItsLastDeliveryCannotBeRead() async throws {
        let fixture = try await PushStoreTests.Fixture()
        try await fixture.install(1)
        let id = try await fixture.push()
        _ = try await fixture.spread(id)
        try await fixture.store.write(for: nil) {
            _ = try $0.execute("UPDATE deliveries SET payload = ?", [.blob([0])])
        }
        let (provider, group) = (SlowProvider(), BackgroundGroup())
        _ = Self.sender(fixture, provider, group)
        try await eventually("the push has ended") {
            try await fixture.count("SELECT count(*) FROM pushes WHERE state = 'ended'") == 1
        }
        await group.stop(within: .seconds(1))
        #expect(provider.seen.isEmpty)
    }
}
