import MessageBus
import ParseProtocol

/// The rate limit of log lines for one process of cloud code, because the log is shared and uses disk space. Lines
/// beyond it are dropped and counted. No I/O: the time is an argument.
package struct LogRateLimit {
    /// The number of dropped lines and bytes.
    package struct Dropped: Equatable {
        package var lines: Int
        package var bytes: Int

        package init(lines: Int = 0, bytes: Int = 0) {
            self.lines = lines
            self.bytes = bytes
        }
    }

    /// Burst, and lines per second: a hundred times what a busy shop writes.
    package static let linesMax = 1000
    package static let linesPerSecond = 100
    /// Burst, and bytes per second: the size of a log with that many lines.
    package static let bytesMax = 1 << 20
    package static let bytesPerSecond = bytesMax / linesMax * linesPerSecond
    /// Milliseconds from the first dropped line until the drop is logged.
    package static let pause: BusClock.Milliseconds = 5_000

    private static let lines = bucket(linesMax, perSecond: linesPerSecond)
    private static let bytes = bucket(bytesMax, perSecond: bytesPerSecond)

    private var linesFullAt: Int64 = 0
    private var bytesFullAt: Int64 = 0
    private var dropped: (what: Dropped, since: BusClock.Milliseconds)?

    package init() {}

    /// Whether a line of this size is logged; otherwise it is counted as dropped.
    package mutating func admits(_ count: Int, now: BusClock.Milliseconds) -> Bool {
        let ticks = now * 1_000_000
        guard Self.lines.wait(fullAt: linesFullAt, at: ticks) == 0,
            Self.bytes.wait(fullAt: bytesFullAt, tokens: count, at: ticks) == 0
        else {
            var (what, since) = dropped ?? (Dropped(), now)
            what.lines += 1
            what.bytes += count
            dropped = (what, since)
            return false
        }
        linesFullAt = Self.lines.fullAt(from: linesFullAt, at: ticks)
        bytesFullAt = Self.bytes.fullAt(taking: count, from: bytesFullAt, at: ticks)
        return true
    }

    /// Whether a drop was not logged yet.
    package var hasDropped: Bool { dropped != nil }

    /// The dropped lines, when it is time to log them or at the end.
    package mutating func takeDropped(now: BusClock.Milliseconds, isEnd: Bool = false) -> Dropped? {
        guard let (what, since) = dropped, isEnd || now - since >= Self.pause else { return nil }
        dropped = nil
        return what
    }

    /// In nanoseconds: many bytes refill per millisecond.
    private static func bucket(_ count: Int, perSecond: Int) -> TokenBucket {
        TokenBucket(count: count, window: Int64(count) * 1_000_000_000 / Int64(perSecond))
    }
}
