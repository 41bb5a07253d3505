import Foundation

/// The lock that decides which process writes a file. The kernel releases it when the process ends, for whatever
/// reason.
///
/// It is held on the database file itself, by its inode, so that it holds even if paths are removed or renamed. It is
/// also held on `<file>.lock`, the only lock that earlier releases know. `flock` does not affect the `fcntl` locks that
/// SQLite takes on the same file (flock(2), "interaction with fcntl"). Closing a descriptor of the file, however, would
/// drop all locks of the process on it (https://www.sqlite.org/howtocorrupt.html, section 2.2): the descriptor of the
/// database is therefore never closed.
final class WriterLock {
    private let path: String
    private var file = Held()
    private var lockFile = Held()

    private struct Held {
        var descriptor: Int32 = -1
        var isLocked = false
    }

    /// - Parameter path: the database.
    init(path: String) { self.path = path }

    /// Tries to take the lock; creates an empty file if there is no database.
    /// - Returns: false while another process has it.
    /// - Throws: `StoreError` when a file cannot be opened.
    func take() throws -> Bool {
        try Self.lock(&lockFile, path + ".lock", mayClose: true) && Self.lock(&file, path, mayClose: false)
            && isFileCurrent
    }

    /// Whether the path still names the locked file. False after the file was removed or replaced.
    var isFileCurrent: Bool { file.isLocked && Self.isNamed(file.descriptor, path) }

    /// The database's descriptor, for reading without SQLite; it must not be closed. -1 before `take`.
    var descriptor: Int32 { file.descriptor }

    func release() {
        if file.isLocked { flock(file.descriptor, LOCK_UN) }
        if lockFile.descriptor >= 0 { close(lockFile.descriptor) }
        file.isLocked = false
        lockFile = Held()
    }

    deinit { release() }

    private static func lock(_ held: inout Held, _ path: String, mayClose: Bool) throws -> Bool {
        if held.descriptor >= 0, !isNamed(held.descriptor, path) {
            if mayClose { close(held.descriptor) } else { flock(held.descriptor, LOCK_UN) }
            held = Held()
        }
        if held.descriptor < 0 {
            held.descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
            guard held.descriptor >= 0 else {
                throw StoreError(systemError: errno, "cannot open \(path)")
            }
        }
        if !held.isLocked { held.isLocked = flock(held.descriptor, LOCK_EX | LOCK_NB) == 0 }
        return held.isLocked
    }

    private static func isNamed(_ descriptor: Int32, _ path: String) -> Bool {
        var (own, named) = (stat(), stat())
        return fstat(descriptor, &own) == 0 && stat(path, &named) == 0
            && own.st_dev == named.st_dev && own.st_ino == named.st_ino
    }
}
