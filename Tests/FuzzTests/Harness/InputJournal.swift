import Foundation

/// Keeps the input that is about to run in a file, so that it is there when the process is not any more.
///
/// The kernel keeps what was written, whatever the process does next; nothing has to reach the disk.
final class InputJournal {
    private let path: String
    private let descriptor: Int32

    /// - Parameter folder: nil for no journal.
    init?(_ target: String, folder: String?) {
        guard let folder else { return nil }
        path = "\(folder)/\(target).input"
        descriptor = open(path, O_CREAT | O_WRONLY | O_TRUNC | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { return nil }
    }

    func write(_ input: [UInt8]) {
        _ = ftruncate(descriptor, 0)
        _ = input.withUnsafeBytes { pwrite(descriptor, $0.baseAddress, $0.count, 0) }
    }

    /// The run ended; nothing was left behind.
    func finish() {
        close(descriptor)
        unlink(path)
    }
}
