import MessageBus
import ParseProtocol

/// The lines that one process of cloud code may write into the log, which others share and which fills a disk. What is
/// past it is dropped and counted. Pure: the time is an argument.
package struct LogAllowance {
    /// The lines that were dropped.
    package struct Dropped: Equatable {
        package var lines: Int
        package var bytes: Int

        package init(lines: Int = 0, bytes: Int = 0) {
            self.lines = lines
            self.bytes = bytes
        }
    }

    /// Lines at once, and how many come back in a second: a hundred times what a shop at work writes.
    package static let linesMax = 1000
    package static let linesPerSecond = 100
    /// Bytes at once, and how many come back in a second: what a log of that many lines has.
    package static let bytesMax = 1 << 20
    package static let bytesPerSecond = bytesMax / linesMax * linesPerSecond
    /// Milliseconds from the first line that is dropped until it is said how many were.
    package static let pause: BusClock.Milliseconds = 5_000

    private static let lines = bucket(linesMax, perSecond: linesPerSecond)
    private static let bytes = bucket(bytesMax, perSecond: bytesPerSecond)

    private var linesFullAt: Int64 = 0
    private var bytesFullAt: Int64 = 0
    private var dropped: (what: Dropped, since: BusClock.Milliseconds)?

    package init() {}

    /// Whether a line of so many bytes is logged; else it is counted.
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

    /// Whether something was dropped that was not said yet.
    package var hasDropped: Bool { dropped != nil }

    /// What was dropped, once it is time to say so, or at the end.
    package mutating func takeDropped(now: BusClock.Milliseconds, isEnd: Bool = false) -> Dropped? {
        guard let (what, since) = dropped, isEnd || now - since >= Self.pause else { return nil }
        dropped = nil
        return what
    }

    /// In nanoseconds: of bytes many come back in a millisecond.
    private static func bucket(_ count: Int, perSecond: Int) -> TokenBucket {
        TokenBucket(count: count, window: Int64(count) * 1_000_000_000 / Int64(perSecond))
    }
}
