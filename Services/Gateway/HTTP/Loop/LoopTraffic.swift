import MessageBus
import NIOCore
import Synchronization

/// The messages between all event loops and the broker's thread.
final class BusTraffic: Sendable {
    private let loops = Mutex<[ObjectIdentifier: LoopTraffic]>([:])

    /// The traffic of an event loop. Called on that loop.
    func of(_ loop: any EventLoop, with broker: Broker) -> LoopTraffic {
        loops.withLock { loops in
            if let traffic = loops[ObjectIdentifier(loop)] { return traffic }
            let traffic = LoopTraffic(loop, broker)
            loops[ObjectIdentifier(loop)] = traffic
            return traffic
        }
    }

    /// Hands all waiting replies to their event loops. Called on the broker's thread at the end of a batch.
    func deliver() {
        loops.withLock { for traffic in $0.values { traffic.deliver() } }
    }
}

/// The messages between one event loop and the broker's thread, in batches both ways: each side is woken once for
/// several messages. Under load, waking is a large part of a message's cost.
final class LoopTraffic: Sendable {
    /// The largest batch, which takes about a quarter of a millisecond.
    private static let batchMax = 16

    /// For tasks that resume on their connection's event loop.
    let executor: LoopExecutor
    private let loop: any EventLoop
    private let broker: Broker
    private let replies = Mutex<[@Sendable () -> Void]>([])
    /// Requests in the present turn of the event loop.
    private let asked: NIOLoopBoundBox<Int>

    fileprivate init(_ loop: any EventLoop, _ broker: Broker) {
        self.loop = loop
        self.broker = broker
        executor = LoopExecutor(loop)
        asked = NIOLoopBoundBox(0, eventLoop: loop)
    }

    /// The event loop calls this after it has posted a request to the broker's mailbox. It wakes the broker at the end
    /// of its turn, or after each full batch.
    func madeRequest() {
        asked.value += 1
        if asked.value == 1 {
            // Runs when the event loop has handled all events that woke it.
            loop.execute { [self] in
                asked.value = 0
                broker.wake()
            }
        } else if asked.value % Self.batchMax == 0 {
            broker.wake()
        }
    }

    /// Runs the work for a reply on the event loop. Called where replies arrive: on the broker's thread or, when the
    /// broker has stopped, on the event loop.
    func replied(_ work: @escaping @Sendable () -> Void) {
        guard !loop.inEventLoop else { return loop.execute(work) }
        let isFull = replies.withLock {
            $0.append(work)
            return $0.count >= Self.batchMax
        }
        if isFull { deliver() }
    }

    fileprivate func deliver() {
        let batch = replies.withLock { replies in
            defer { replies = [] }
            return replies
        }
        guard !batch.isEmpty else { return }
        loop.execute { for work in batch { work() } }
    }
}

/// The executor of tasks that run on an event loop. They must not block it for long.
final class LoopExecutor: TaskExecutor {
    private let loop: any EventLoop

    fileprivate init(_ loop: any EventLoop) { self.loop = loop }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        loop.execute { [self] in job.runSynchronously(on: asUnownedTaskExecutor()) }
    }
}
