import MessageBus
import Messages
import Testing

/// The broker's decisions about requests that may go to any replica that runs the same edition as the writer, and that
/// are never repeated.
@Suite final class SharedRequestTests {
    private typealias Subject = Dispatcher<String>

    private var subject = Subject(withoutWindow: ["cloud"])
    private var actions: [Subject.Action] = []
    private var requests = 0

    private func hello(_ lane: UInt8, edition: UInt64, writer: Bool = false) {
        let hello = Hello.with {
            $0.service = "cloud"
            $0.replica = "cloud-\(lane)"
            $0.writer = writer
            $0.edition = edition
        }
        subject.hello([lane], hello, now: 0, &actions)
    }

    private func ask(shared: Bool = true) {
        let message = BusMessage(
            envelope: .with {
                $0.version = 1
                $0.form = .request
                $0.kind = CloudCalls.run.kind
                $0.deadline = 100_000
                $0.writes = true
                $0.shared = shared
            })
        requests += 1
        subject.request(message, from: "\(requests)", now: 0, &actions)
    }

    /// The ids of the lanes that got a message since the last call.
    private func sent() -> [[UInt8]] {
        defer { actions = [] }
        return actions.compactMap { action in
            if case .send(let lane, _) = action { lane } else { nil }
        }
    }

    private func lanes() -> [UInt8] { sent().compactMap(\.first) }

    /// The codes of failures since the last call.
    private func failures() -> [Int32] {
        defer { actions = [] }
        return actions.compactMap { action in
            if case .answer(_, let message) = action { message.envelope.failure.code } else { nil }
        }
    }

    private func lanes(of count: Int, shared: Bool = true) -> [UInt8] {
        for _ in 0..<count { ask(shared: shared) }
        return lanes()
    }

    @Test func thoseWhoRunWhatTheWriterRunsShareThem() {
        hello(1, edition: 7, writer: true)
        hello(2, edition: 7)
        hello(3, edition: 8)
        hello(4, edition: 0)
        let taken = lanes(of: 6)
        #expect(taken.filter { $0 == 1 }.count == 3)
        #expect(taken.filter { $0 == 2 }.count == 3)
    }

    /// These requests and their answers are sent in batches, like other writes.
    @Test func oneLaneOfAProcessHasTheRequests() {
        let ids = ["cloud-1-5-0", "cloud-1-5-1", "cloud-2-6-0", "cloud-2-6-1"].map { Array($0.utf8) }
        for id in ids {
            let hello = Hello.with {
                $0.service = "cloud"
                $0.replica = String(decoding: id.prefix(7), as: UTF8.self)
                $0.writer = id == ids[0] || id == ids[1]
                $0.edition = 7
            }
            subject.hello(id, hello, now: 0, &actions)
        }
        for _ in 0..<6 { ask() }
        let first = sent()
        #expect(ids.map { id in first.count { $0 == id } } == [3, 0, 3, 0])
        subject.gone(ids[2], now: 0, &actions)
        for _ in 0..<3 { ask() }
        #expect(sent() == [ids[3], ids[3], ids[3]], "Its process goes on with the other one.")
    }

    @Test func otherWritesGoToTheWriterAlone() {
        hello(1, edition: 7)
        hello(2, edition: 7, writer: true)
        #expect(lanes(of: 4, shared: false) == [2, 2, 2, 2])
    }

    @Test func theNextWritersEditionTakesThePlaceOfTheOneBefore() {
        hello(1, edition: 7, writer: true)
        hello(2, edition: 7)
        hello(3, edition: 8)
        subject.goodbye([1], now: 0)
        #expect(lanes(of: 2) == [2, 2], "There is no other writer yet.")
        hello(3, edition: 8, writer: true)
        #expect(lanes(of: 3) == [3, 3, 3])
        // A heartbeat from a socket that does not know of the goodbye changes nothing.
        hello(1, edition: 7, writer: true)
        #expect(lanes(of: 2) == [3, 3])
    }

    @Test func othersGoOnWhileThereIsNoWriter() {
        hello(1, edition: 7, writer: true)
        hello(2, edition: 7)
        subject.gone([1], now: 0, &actions)
        #expect(lanes(of: 2) == [2, 2])
        #expect(lanes(of: 1, shared: false).isEmpty)
        #expect(lanes(of: 1) == [2])
    }

    @Test func requestsForTheWriterBlockNoOthers() {
        hello(1, edition: 7, writer: true)
        subject.goodbye([1], now: 0)
        ask(shared: false)
        ask()
        #expect(lanes().isEmpty)
        hello(2, edition: 7)
        #expect(lanes() == [2])
        hello(2, edition: 7, writer: true)
        #expect(lanes() == [2])
    }

    /// The requests wait until the writer has loaded the code.
    @Test func theWriterGetsRequestsUntilTheCodeRuns() {
        hello(1, edition: 0)
        hello(2, edition: 0, writer: true)
        #expect(lanes(of: 2) == [2, 2])
        hello(1, edition: 7)
        #expect(lanes(of: 1) == [2], "Nobody knows whether that is the writer's.")
        hello(2, edition: 7, writer: true)
        #expect(lanes(of: 1) == [1])
        hello(2, edition: 0, writer: true)
        #expect(lanes(of: 3) == [1, 1, 1], "The writer's processes have ended, the others run the same.")
    }

    @Test func theyWaitWhereThereIsNeither() {
        hello(1, edition: 7, writer: true)
        hello(2, edition: 8)
        subject.goodbye([1], now: 0)
        #expect(lanes(of: 2).isEmpty)
        hello(2, edition: 8, writer: true)
        #expect(lanes() == [2, 2])
    }

    @Test func theyAreNeverRepeated() {
        hello(1, edition: 7, writer: true)
        hello(2, edition: 7)
        let taken = lanes(of: 4)
        #expect(Set(taken) == [1, 2])
        subject.gone([2], now: 0, &actions)
        #expect(failures() == [124, 124], "Its own alone.")
        #expect(lanes(of: 2) == [1, 1])
    }
}
