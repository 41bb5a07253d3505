import Glibc
import Synchronization

/// The room on the disk for what clients add. The last part of it is kept for the operator and for orders that are
/// being paid.
final class DiskSpace: Sendable {
    private let path: String
    private let freeBytesMin: Int
    private let last = Mutex<(askedAt: Int64, hasRoom: Bool)?>(nil)

    /// Nanoseconds for which an answer holds: at most that much of writing comes past the limit.
    private static let validity: Int64 = 1_000_000_000

    /// - Parameter freeBytesMin: 0 never asks.
    init(path: String, freeBytesMin: Int) {
        self.path = path
        self.freeBytesMin = freeBytesMin
    }

    /// A disk that does not say how full it is has room: writing to it will tell.
    func hasRoom(at now: Int64) -> Bool {
        guard freeBytesMin > 0 else { return true }
        return last.withLock { last in
            if let last, now - last.askedAt < Self.validity { return last.hasRoom }
            var status = statvfs()
            let isKnown = statvfs(path, &status) == 0
            let free = UInt64(status.f_bavail).multipliedReportingOverflow(by: UInt64(status.f_frsize))
            let hasRoom = !isKnown || free.overflow || free.partialValue >= UInt64(freeBytesMin)
            last = (now, hasRoom)
            return hasRoom
        }
    }
}
