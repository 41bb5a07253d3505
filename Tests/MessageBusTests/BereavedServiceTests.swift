import MessageBus
import Messages
import Testing

/// Detects that a service lost a writing process other than the leader, which may have made an unannounced change.
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
        #expect(subject.takeServicesWithLostWriters().isEmpty)
        subject.gone([1], now: 10, &actions)
        #expect(subject.takeServicesWithLostWriters() == ["users"])
        #expect(subject.takeServicesWithLostWriters().isEmpty)
    }

    @Test func aReaderIsNotMissed() {
        hello(1, edition: 0)
        subject.gone([1], now: 10, &actions)
        #expect(subject.takeServicesWithLostWriters().isEmpty)
    }

    /// All its changes were answered before the goodbye.
    @Test func aWriterWithAGoodbyeIsNotMissed() {
        hello(1, edition: 7)
        subject.goodbye([1], now: 5)
        subject.gone([1], now: 10, &actions)
        #expect(subject.takeServicesWithLostWriters().isEmpty)
    }

    @Test func aSilentWriterIsMissed() {
        hello(1, edition: 7)
        subject.tick(now: Dispatcher<String>.silenceMax + 1, &actions)
        #expect(subject.lanes.isEmpty)
        #expect(subject.takeServicesWithLostWriters() == ["users"])
    }

    /// The process does not know the outcome of its last transaction.
    @Test func aWriterThatLostItsDatabaseIsMissed() {
        hello(1, edition: 7)
        hello(1, edition: 0)
        #expect(subject.takeServicesWithLostWriters() == ["users"])
        hello(1, edition: 7)
        #expect(subject.takeServicesWithLostWriters().isEmpty)
    }
}
