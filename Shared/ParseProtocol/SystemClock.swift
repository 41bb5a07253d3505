import Glibc

/// The kernel's clocks that corrections of the host's time do not change (clock_gettime(2)), in nanoseconds.
public enum SystemClock {
    /// Time since an origin common to all processes of a host; stands still while the host is suspended.
    public static var monotonic: UInt64 { read(CLOCK_MONOTONIC) }
    /// As `monotonic`, and includes suspended time.
    public static var sinceBoot: UInt64 { read(CLOCK_BOOTTIME) }
    /// Processor time of the calling thread.
    public static var threadTime: UInt64 { read(CLOCK_THREAD_CPUTIME_ID) }

    private static func read(_ clock: clockid_t) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }
}
