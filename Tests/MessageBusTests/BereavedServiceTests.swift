import MessageBus
import Messages
import Testing

/// A service that lost a process which may have made a change beside the one that leads, and told nobody.
@Suite final class BereavedServiceTests {
    private var subject = Dispatcher<String>()
    private var actions: [Dispatcher<String>.Action] = []

    private func hello(_ lane: UInt8, edition: UInt64, now: Int64 = 0) {
        let hello = Hello.with {
            $0.service = "users"
            $0.replica = "users-\(lane)"
            $0.edition = edition
        }
        subject.hello([lane], hello, now: now, &actions)
    }

    @Test func aProcessThatWritesIsMissedOnce() {
        hello(1, edition: 7)
        hello(2, edition: 7)
        #expect(subject.takeBereaved().isEmpty)
        subject.gone([1], now: 10, &actions)
        #expect(subject.takeBereaved() == ["users"])
        #expect(subject.takeBereaved().isEmpty)
    }

    @Test func oneThatOnlyReadsIsNot() {
        hello(1, edition: 0)
        subject.gone([1], now: 10, &actions)
        #expect(subject.takeBereaved().isEmpty)
    }

    /// Everything that it did was answered.
    @Test func oneThatSaidGoodbyeIsNot() {
        hello(1, edition: 7)
        subject.goodbye([1], now: 5)
        subject.gone([1], now: 10, &actions)
        #expect(subject.takeBereaved().isEmpty)
    }

    @Test func oneThatFallsSilentIs() {
        hello(1, edition: 7)
        subject.tick(now: Dispatcher<String>.silenceMax + 1, &actions)
        #expect(subject.lanes.isEmpty)
        #expect(subject.takeBereaved() == ["users"])
    }

    /// It does not know itself what became of its last transaction.
    @Test func oneThatLostItsDatabaseIs() {
        hello(1, edition: 7)
        hello(1, edition: 0)
        #expect(subject.takeBereaved() == ["users"])
        hello(1, edition: 7)
        #expect(subject.takeBereaved().isEmpty)
    }
}
