import CCurl
import Foundation
import Synchronization

/// The thread that owns the multi handle. libcurl allows a handle on one thread at a time
/// (https://curl.se/libcurl/c/threadsafe.html). Other threads only call `curl_multi_wakeup`.
final class TransferThread: Sendable {
    typealias Ticket = UInt64
    typealias Completion = @Sendable (Result<Transfer.Outcome, OutboundFailure>) -> Void

    private struct Order {
        let ticket: Ticket
        let work: Transfer.Work
        let completion: Completion
    }

    private struct Inbox {
        var orders: [Order] = []
        var cancelled: [Ticket] = []
        /// The failure of later orders; nil while the thread takes orders.
        var closed: OutboundFailure?
        /// Nil until the thread has loaded libcurl.
        var multi: Multi?
        /// Submitted orders without a result.
        var open = 0
    }

    /// `curl_multi_wakeup` may be called from any thread until the cleanup, which follows `closed`.
    private struct Multi: @unchecked Sendable {
        let handle: UnsafeMutableRawPointer
    }

    /// Limit of open orders. Beyond it a provider does not respond, which is a fault and not load. Callers queue on
    /// disk.
    private static let openMax = 4096
    /// Limit of connections per host, so that a slow provider does not get a thousand; HTTP/2 shares them.
    private static let connectionsPerHostMax = 16
    /// Providers such as APNs allow a thousand streams; libcurl also obeys the peer's limit.
    private static let streamsMax = 1000

    private let inbox = Mutex(Inbox())
    private let lastTicket = Atomic<Ticket>(0)
    private let authorities: String?

    /// curl_global_init must not run concurrently; a static property is initialised once.
    private static let isReady: Bool = curl_global_init(Int(CURL_GLOBAL_ALL)) == CURLE_OK

    init(authorities: String?) { self.authorities = authorities }

    /// Whether it takes no more orders: it was closed, or it could not load libcurl.
    var isClosed: Bool { inbox.withLock { $0.closed != nil } }

    func start() {
        let thread = Thread { [self] in
            Thread.current.name = "outbound"
            run()
        }
        thread.start()
    }

    func newTicket() -> Ticket { lastTicket.wrappingAdd(1, ordering: .relaxed).newValue }

    func submit(_ work: Transfer.Work, ticket: Ticket, completion: @escaping Completion) {
        let refusal = inbox.withLock { inbox -> OutboundFailure? in
            if let closed = inbox.closed { return closed }
            guard inbox.open < Self.openMax else {
                return OutboundFailure(.refused, wasNotSent: true, detail: "too many requests are waiting")
            }
            inbox.open += 1
            inbox.orders.append(Order(ticket: ticket, work: work, completion: completion))
            Self.wake(inbox.multi)
            return nil
        }
        if let refusal { completion(.failure(refusal)) }
    }

    func cancel(_ ticket: Ticket) {
        inbox.withLock { inbox in
            guard inbox.closed == nil else { return }
            inbox.cancelled.append(ticket)
            Self.wake(inbox.multi)
        }
    }

    /// Ends the thread; running transfers fail as cancelled.
    func close() {
        inbox.withLock { inbox in
            guard inbox.closed == nil else { return }
            inbox.closed = OutboundFailure(.cancelled, wasNotSent: true)
            Self.wake(inbox.multi)
        }
    }

    /// To be called inside the lock, because the handle may be gone after `closed`.
    private static func wake(_ multi: Multi?) {
        if let multi { curl_multi_wakeup(multi.handle) }
    }

    // MARK: - On the thread

    private func run() {
        let multi: UnsafeMutableRawPointer
        do throws(OutboundFailure) {
            multi = try Self.open()
        } catch {
            return fail(error)
        }
        let shared = Multi(handle: multi)
        inbox.withLock { $0.multi = shared }
        var running: [Ticket: (transfer: Transfer, completion: Completion)] = [:]
        while true {
            let (orders, cancelled, isClosed) = inbox.withLock { inbox in
                defer { (inbox.orders, inbox.cancelled) = ([], []) }
                return (inbox.orders, inbox.cancelled, inbox.closed != nil)
            }
            for order in orders { start(order, multi, &running) }
            for ticket in isClosed ? Array(running.keys) : cancelled {
                guard let (transfer, completion) = running.removeValue(forKey: ticket) else { continue }
                curl_multi_remove_handle(multi, transfer.handle)
                finish(completion, .failure(transfer.cancelled()))
            }
            if isClosed { break }
            var count: Int32 = 0
            if curl_multi_perform(multi, &count) != CURLM_OK { failAll(multi, &running) }
            collect(multi, &running)
            // Wakes up for sockets, libcurl's timers and `curl_multi_wakeup`; the one-second timeout covers a lost
            // wake-up.
            if curl_multi_poll(multi, nil, 0, 1000, nil) != CURLM_OK { Thread.sleep(forTimeInterval: 0.01) }
        }
        curl_multi_cleanup(multi)
    }

    /// Loads and starts libcurl, which may take as long as a cold disk needs.
    /// - Throws: when the library is missing or unfit; the next transfer tries it again.
    private static func open() throws(OutboundFailure) -> UnsafeMutableRawPointer {
        if let problem = OutboundClient.libraryProblem {
            throw OutboundFailure(.refused, wasNotSent: true, detail: problem)
        }
        guard isReady, let multi = curl_multi_init() else {
            throw OutboundFailure(.refused, wasNotSent: true, detail: "libcurl cannot be initialised")
        }
        for (option, value) in [
            (CURLMOPT_PIPELINING, Int(CURLPIPE_MULTIPLEX)),
            (CURLMOPT_MAX_HOST_CONNECTIONS, Self.connectionsPerHostMax),
            (CURLMOPT_MAX_CONCURRENT_STREAMS, Self.streamsMax),
        ] where satchel_curl_multi_set_long(multi, option, value) != CURLM_OK {
            curl_multi_cleanup(multi)
            throw OutboundFailure(.refused, wasNotSent: true, detail: "libcurl does not know an option")
        }
        return multi
    }

    /// Closes without libcurl.
    private func fail(_ failure: OutboundFailure) {
        let orders = inbox.withLock { inbox in
            inbox.closed = failure
            defer { inbox.orders = [] }
            return inbox.orders
        }
        for order in orders { finish(order.completion, .failure(failure)) }
    }

    private func start(
        _ order: Order, _ multi: UnsafeMutableRawPointer,
        _ running: inout [Ticket: (transfer: Transfer, completion: Completion)]
    ) {
        do throws(OutboundFailure) {
            let transfer = try Transfer(order.work, ticket: order.ticket, authorities: authorities)
            guard curl_multi_add_handle(multi, transfer.handle) == CURLM_OK else {
                throw OutboundFailure(.refused, wasNotSent: true, detail: "libcurl does not take the request")
            }
            running[order.ticket] = (transfer, order.completion)
        } catch {
            finish(order.completion, .failure(error))
        }
    }

    private func collect(
        _ multi: UnsafeMutableRawPointer, _ running: inout [Ticket: (transfer: Transfer, completion: Completion)]
    ) {
        var left: Int32 = 0
        while let message = curl_multi_info_read(multi, &left) {
            guard message.pointee.msg == CURLMSG_DONE, let handle = message.pointee.easy_handle,
                let (ticket, result) = Transfer.ticket(of: handle).map({ ($0, satchel_curl_message_result(message)) })
            else { continue }
            curl_multi_remove_handle(multi, handle)
            guard let (transfer, completion) = running.removeValue(forKey: ticket) else { continue }
            finish(completion, transfer.outcome(result))
        }
    }

    /// Handles a failure of the multi handle itself, which happens only without memory.
    private func failAll(
        _ multi: UnsafeMutableRawPointer, _ running: inout [Ticket: (transfer: Transfer, completion: Completion)]
    ) {
        for (transfer, completion) in running.values {
            curl_multi_remove_handle(multi, transfer.handle)
            finish(completion, .failure(OutboundFailure(.broken, wasNotSent: false, detail: "libcurl failed")))
        }
        running = [:]
    }

    private func finish(_ completion: Completion, _ result: Result<Transfer.Outcome, OutboundFailure>) {
        inbox.withLock { $0.open -= 1 }
        completion(result)
    }
}
