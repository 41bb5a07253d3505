import Glibc
import Messages
import ParseProtocol

/// The monotonic clock of deadlines and liveness, in milliseconds. Corrections of the host's time do not change it, so
/// they neither end requests nor declare lanes dead.
///
/// All processes of a host share it, so a deadline means the same in each of them. Between hosts its times are not
/// comparable; there `Envelope.remaining` counts from the arrival.
public enum BusClock {
    /// Milliseconds of this clock, from an origin common to all processes of a host.
    public typealias Milliseconds = Int64

    /// The current time (CLOCK_MONOTONIC).
    public static var now: Milliseconds { Milliseconds(SystemClock.monotonic / 1_000_000) }

    /// Identifies this clock: processes with the same name may compare its times. Derived from the kernel's boot id and
    /// the time namespace.
    package static let name: UInt64 = {
        guard let boot = text(of: "/proc/sys/kernel/random/boot_id"), let space = link("/proc/self/ns/time") else {
            return .random(in: 1 ... .max)  // Unique, so that other processes use `remaining`.
        }
        return FNV1a.hash(boot + space)
    }()

    private static func text(of path: String) -> [UInt8]? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        var buffer = [UInt8](repeating: 0, count: 64)
        let count = read(file, &buffer, buffer.count)
        return count > 0 ? Array(buffer[..<count]) : nil
    }

    private static func link(_ path: String) -> [UInt8]? {
        var buffer = [CChar](repeating: 0, count: 64)
        let count = readlink(path, &buffer, buffer.count)
        return count > 0 ? buffer[..<count].map { UInt8(bitPattern: $0) } : nil
    }
}

extension Envelope {
    /// Converts the deadline of a received request to this process's clock.
    mutating func takeDeadline() {
        guard clock != BusClock.name else { return }
        // A peer may send any number; no client waits longer than a day.
        deadline = BusClock.now + max(0, min(remaining, 86_400_000))
        clock = BusClock.name
    }
}

extension Duration {
    /// Whole milliseconds, rounded towards zero.
    public var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
