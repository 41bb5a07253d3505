import Dispatch
import ParseProtocol
import ServiceKit
import Synchronization

/// Writes each mail to a file `<name>.eml`, for development and for shops that collect mails themselves. A mail that a
/// crash makes us write again has the same name and bytes.
///
/// What comes while files are written is written together after them, so that many mails share the wait for the folder,
/// and then the commit that records them.
package final class SpoolTransport: MailTransport {
    /// Mails that are written at once: as many as share a wait, few enough to be written again after a crash.
    static let mailsMax = 16

    private struct Waiting: Sendable {
        let message: MailMessage
        let name: String
        let continuation: CheckedContinuation<Result<Void, DurableFile.Failure>, Never>
    }

    private let folder: SpoolFolder
    private let waiting = Mutex<[Waiting]>([])
    /// Waiting for the disk blocks a thread; one that no other work needs.
    private let queue = DispatchQueue(label: "mail-spool")

    /// - Throws: `CocoaError` when the folder cannot be made.
    package init(directory: String) throws { folder = try SpoolFolder(directory) }

    package func send(_ message: MailMessage, name: String) async throws(MailProblem) {
        let result = await withCheckedContinuation { continuation in
            let isFirst = waiting.withLock { waiting in
                waiting.append(Waiting(message: message, name: "\(name).eml", continuation: continuation))
                return waiting.count == 1
            }
            if isFirst { queue.async { [self] in writeWaiting() } }
        }
        // A full disk, or a folder that somebody removed: no mail could be written.
        if case .failure(let failure) = result {
            throw MailProblem(.temporary, affectsAll: true, "The spool cannot be written, \(failure)")
        }
    }

    private func writeWaiting() {
        let mails = waiting.withLock { waiting in
            defer { waiting = [] }
            return waiting
        }
        let results = folder.write(mails.map { ($0.name, $0.message.bytes) })
        for (mail, result) in zip(mails, results) { mail.continuation.resume(returning: result) }
    }
}
