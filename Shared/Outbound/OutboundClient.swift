import CCurl
import Foundation
import Synchronization

/// HTTP requests and mails to external servers, over libcurl's multi interface. One thread drives all transfers of the
/// process. Connections are kept and shared, and no Swift task ever blocks.
public final class OutboundClient: Sendable {
    private let authorities: String?
    private let started = Mutex<TransferThread?>(nil)

    /// - Parameter authorities: a PEM file of certificate authorities instead of the system's (`SATCHEL_CA_FILE`).
    public init(authorities: String? = nil) { self.authorities = authorities }

    deinit {
        let thread = started.withLock { $0 }
        thread?.close()
    }

    /// Why libcurl cannot be used; nil when it is loaded.
    package static var libraryProblem: String? { satchel_curl_problem().map { String(cString: $0) } }

    /// Starts with the first transfer: most processes never have one.
    private var thread: TransferThread {
        started.withLock { started in
            if let started, !started.isClosed { return started }
            let thread = TransferThread(authorities: authorities)
            thread.start()
            started = thread
            return thread
        }
    }

    /// Sends a request and returns the response, whatever its status.
    /// - Throws: when there is no complete response. Cancelling the task cancels the transfer.
    public func send(_ request: OutboundRequest) async throws(OutboundFailure) -> OutboundResponse {
        let outcome = try await run(.http(request))
        return OutboundResponse(status: outcome.status, headers: outcome.headers, body: outcome.body)
    }

    /// Sends a mail to an SMTP server and returns when the server has accepted responsibility for it.
    /// - Throws: otherwise. After `broken` or `timedOut` with `wasNotSent` false, the server may nevertheless have the
    ///   mail.
    public func send(_ mail: OutboundMail) async throws(OutboundFailure) {
        _ = try await run(.mail(mail))
    }

    private func run(_ work: Transfer.Work) async throws(OutboundFailure) -> Transfer.Outcome {
        if Task.isCancelled { throw OutboundFailure(.cancelled, wasNotSent: true) }
        let thread = thread
        let ticket = thread.newTicket()
        return try await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                thread.submit(work, ticket: ticket) { continuation.resume(returning: $0) }
                // The thread ignores a cancellation that it handles before the order arrives.
                if Task.isCancelled { thread.cancel(ticket) }
            }
        } onCancel: {
            thread.cancel(ticket)
        }.get()
    }
}
