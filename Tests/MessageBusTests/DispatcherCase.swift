import MessageBus
import Messages

/// A dispatcher without sockets, its lanes, and its response to each event.
class DispatcherCase {
    typealias Subject = Dispatcher<String>

    var subject = Subject()
    let first: [UInt8] = [1]
    let second: [UInt8] = [2]

    func hello(_ service: String = "catalog", replica: String? = nil, writer: Bool = false) -> Hello {
        .with {
            $0.service = service
            $0.replica = replica ?? "\(service)-1"
            $0.writer = writer
        }
    }

    func request(writes: Bool = false, key: String = "", deadline: Int64 = 100_000) -> BusMessage {
        BusMessage(
            envelope: .with {
                $0.version = 1
                $0.form = .request
                $0.kind = ObjectCalls(of: "catalog").find.kind
                $0.correlation = 77
                $0.deadline = deadline
                $0.writes = writes
                $0.idempotencyKey = key
            })
    }

    /// Runs one event and returns the resulting actions: the messages to lanes, and the answers by origin.
    func after(
        _ event: (inout Subject, inout [Subject.Action]) -> Void
    ) -> (
        sent: [(lane: [UInt8], message: BusMessage)], answered: [String: BusMessage]
    ) {
        var actions: [Subject.Action] = []
        event(&subject, &actions)
        var sent: [([UInt8], BusMessage)] = []
        var answered: [String: BusMessage] = [:]
        for action in actions {
            switch action {
            case .send(let lane, let message): sent.append((lane, message))
            case .answer(let origin, let message): answered[origin] = message
            }
        }
        return (sent, answered)
    }

    /// A hello that contains the lane's connection number.
    func hello(connection: UInt64, writer: Bool = false) -> Hello {
        var hello = hello(writer: writer)
        hello.connection = connection
        return hello
    }

    func request(network: String, user: String = "") -> BusMessage {
        var message = request()
        message.envelope.principal = .with {
            $0.network = network
            $0.userID = user
        }
        return message
    }
}
