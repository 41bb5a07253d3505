import Foundation

enum ProcessorTime {
    /// The processor time that all threads of this process together spent so far.
    static var ofThisProcess: Duration {
        var time = timespec()
        clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time)
        return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
    }
}
