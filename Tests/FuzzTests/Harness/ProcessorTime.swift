import Foundation

enum ProcessorTime {
    /// The processor time of all threads of this process so far.
    static var ofThisProcess: Duration { time(of: CLOCK_PROCESS_CPUTIME_ID) }

    /// The processor time of this thread, for work that does not wait and so remains on one thread.
    static var ofThisThread: Duration { time(of: CLOCK_THREAD_CPUTIME_ID) }

    private static func time(of clock: clockid_t) -> Duration {
        var time = timespec()
        clock_gettime(clock, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
