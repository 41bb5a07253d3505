import Glibc
import Messages
import ParseProtocol

/// The clock of deadlines and of liveness: milliseconds that only ever go on. Setting the host's time does not move it,
/// so that a correction by NTP or by hand neither ends requests nor declares lanes dead.
///
/// All processes of one host share it, so that a deadline means the same in each of them. Between hosts it means
/// nothing; there `Envelope.remaining` counts from the arrival.
public enum BusClock {
    /// Milliseconds of this clock, from a moment that is the same for all processes of a host.
    public typealias Milliseconds = Int64

    /// The time of this clock (CLOCK_MONOTONIC).
    public static var now: Milliseconds {
        var time = timespec()
        clock_gettime(CLOCK_MONOTONIC, &time)
        return Int64(time.tv_sec) * 1000 + Int64(time.tv_nsec) / 1_000_000
    }

    /// Names this clock: processes with the same name may compare its times. It is made of the kernel's boot and the
    /// time namespace.
    package static let name: UInt64 = {
        guard let boot = text(of: "/proc/sys/kernel/random/boot_id"), let space = link("/proc/self/ns/time") else {
            return .random(in: 1 ... .max)  // Nobody else's: then what remains counts everywhere.
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
    /// Makes the deadline of a request that arrived one of this process's clock.
    mutating func takeDeadline(now: BusClock.Milliseconds = BusClock.now) {
        guard clock != BusClock.name else { return }
        // A peer may send any number; a day is longer than anybody waits.
        deadline = now + max(0, min(remaining, 86_400_000))
        clock = BusClock.name
    }
}

extension Duration {
    /// Whole milliseconds; the rest is cut off.
    public var milliseconds: Int64 {
        components.seconds * 1000 + components.attoseconds / 1_000_000_000_000_000
    }
}
