import Foundation
import Glibc

/// Writes each mail to a file `<name>.eml`, for development and for shops that collect mails themselves.
///
/// The file appears complete or not at all: it is written under another name, synchronised, then renamed, and the folder is
/// synchronised. A mail that a crash makes us write again has the same name and bytes.
package struct SpoolTransport: MailTransport {
    private let directory: String

    /// - Throws: `CocoaError` when the folder cannot be made.
    package init(directory: String) throws {
        self.directory = directory
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
    }

    package func send(_ message: MailMessage, name: String) async throws(MailProblem) {
        let path = "\(directory)/\(name).eml"
        let unfinished = "\(directory)/.\(name).tmp"
        try Self.write(message.bytes, to: unfinished)
        guard rename(unfinished, path) == 0 else { throw Self.failure("rename") }
        let folder = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard folder >= 0 else { throw Self.failure("open") }
        defer { close(folder) }
        guard fsync(folder) == 0 else { throw Self.failure("fsync") }
    }

    /// A full disk, or a folder that somebody removed: no mail could be written.
    private static func failure(_ call: String) -> MailProblem {
        MailProblem(
            .temporary, affectsAll: true, "The spool cannot be written, \(call): \(String(cString: strerror(errno)))")
    }

    private static func write(_ bytes: [UInt8], to path: String) throws(MailProblem) {
        let file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Self.failure("open") }
        defer { close(file) }
        var written = 0
        while written < bytes.count {
            let count = bytes[written...].withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0 && errno == EINTR { continue }
            guard count > 0 else { throw Self.failure("write") }
            written += count
        }
        guard fsync(file) == 0 else { throw Self.failure("fsync") }
    }
}
