import Glibc
import Synchronization

/// The disk space available to clients. The last part of it is reserved for the operator and for orders being paid.
final class DiskSpace: Sendable {
    private let path: String
    private let freeBytesMin: Int
    private let last = Mutex<(askedAt: Int64, hasRoom: Bool)?>(nil)

    /// Nanoseconds for which a result is cached; writes during that time may exceed the limit.
    private static let validity: Int64 = 1_000_000_000

    /// - Parameter freeBytesMin: 0 disables the check.
    init(path: String, freeBytesMin: Int) {
        self.path = path
        self.freeBytesMin = freeBytesMin
    }

    /// A disk whose free space is unknown counts as having room; a full one fails the write.
    func hasRoom(at now: Int64) -> Bool {
        guard freeBytesMin > 0 else { return true }
        return last.withLock { last in
            if let last, now - last.askedAt < Self.validity { return last.hasRoom }
            let hasRoom = Self.freeBytes(at: path).map { $0 >= UInt64(freeBytesMin) } ?? true
            last = (now, hasRoom)
            return hasRoom
        }
    }

    /// The free space of the disk that has a file; nil if unknown.
    static func freeBytes(at path: String) -> UInt64? {
        var status = statvfs()
        guard statvfs(path, &status) == 0 else { return nil }
        let free = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
        return free.overflow ? nil : free.partialValue
    }
}
