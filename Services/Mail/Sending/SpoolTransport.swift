import Dispatch
import ParseProtocol
import ServiceKit
import Synchronization

/// Writes each mail to a file `<name>.eml`, for development and for shops that collect the mails themselves. A mail
/// that is written again after a crash has the same name and bytes.
///
/// Mails that arrive while files are written form the next batch. Many mails thus share one sync of the folder, and
/// then one commit that records them.
package final class SpoolTransport: MailTransport {
    /// Concurrent mails, and so mails per batch. With more, one sync serves more mails; with fewer, fewer are written
    /// again after a crash.
    static let mailsMax = 16

    private struct Waiting: Sendable {
        let message: MailMessage
        let name: String
        let continuation: CheckedContinuation<Result<Void, DurableFile.Failure>, Never>
    }

    private let folder: SpoolFolder
    private let waiting = Mutex<[Waiting]>([])
    /// Disk writes block a thread; this queue is used for nothing else.
    private let queue = DispatchQueue(label: "mail-spool")

    /// - Throws: `CocoaError` when the folder cannot be created.
    package init(directory: String) throws { folder = try SpoolFolder(directory) }

    package func send(_ message: MailMessage, name: String) async throws(MailProblem) {
        let result = await withCheckedContinuation { continuation in
            let isFirst = waiting.withLock { waiting in
                waiting.append(Waiting(message: message, name: "\(name).eml", continuation: continuation))
                return waiting.count == 1
            }
            if isFirst { queue.async { [self] in writeWaiting() } }
        }
        // With a full disk, or a folder that cannot be created, no mail can be written.
        if case .failure(let failure) = result {
            throw MailProblem(.temporary, affectsAll: true, "The spool folder cannot be written: \(failure)")
        }
    }

    private func writeWaiting() {
        let mails = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        let results = folder.write(mails.map { ($0.name, $0.message.bytes(eightBit: true)) })
        for (mail, result) in zip(mails, results) { mail.continuation.resume(returning: result) }
    }
}
