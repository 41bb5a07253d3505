import ParseProtocol
import ServiceKit

/// Writes each mail to a file `<name>.eml`, for development and for shops that collect mails themselves. A mail that a
/// crash makes us write again has the same name and bytes.
package struct SpoolTransport: MailTransport {
    private let folder: SpoolFolder
    private let queue = BlockingQueue("mail-spool")

    /// - Throws: `CocoaError` when the folder cannot be made.
    package init(directory: String) throws { folder = try SpoolFolder(directory) }

    package func send(_ message: MailMessage, name: String) async throws(MailProblem) {
        do throws(DurableFile.Failure) {
            try await queue.run { [folder] () throws(DurableFile.Failure) -> Void in
                try folder.write(message.bytes, name: "\(name).eml")
            }
        } catch {
            // A full disk, or a folder that somebody removed: no mail could be written.
            throw MailProblem(.temporary, affectsAll: true, "The spool cannot be written, \(error)")
        }
    }
}
