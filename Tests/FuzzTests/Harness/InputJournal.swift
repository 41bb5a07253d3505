import Foundation

/// Writes each input to a file before it runs, so that it is available after a crash.
///
/// The kernel keeps the written data when the process dies, so no fsync is needed.
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

    /// Removes the journal after a run without a crash.
    func finish() {
        close(descriptor)
        unlink(path)
    }
}
