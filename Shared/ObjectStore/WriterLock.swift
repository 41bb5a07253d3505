import Foundation

/// The lock that decides which process writes a file. The kernel releases it when the process ends, however it ends.
struct WriterLock: ~Copyable {
    private let descriptor: Int32

    /// Takes the lock at `path`, or gives nil while somebody else has it.
    init?(path: String) throws {
        let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw StoreError(resultCode: 14, message: "cannot open the lock file: errno \(errno)") }
        guard flock(descriptor, LOCK_EX | LOCK_NB) == 0 else {
            close(descriptor)
            return nil
        }
        self.descriptor = descriptor
    }

    deinit { close(descriptor) }
}
