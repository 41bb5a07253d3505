import CSQLite
import Glibc
import ParseProtocol

/// A read that was given less time than it needs, or a query that nobody knows to be quick where only such are taken.
/// Nothing was changed: the same read is run again where it may take longer.
public struct ReadOverrun: Error {}

/// Ends statements that run for too long, by SQLite's progress handler and by what each costly SQL function asks.
/// PostgreSQL is given the time that is left (`left`), and what it was waited for counts as what was used (`add`).
///
/// There are two limits at once: of each call of the reader (`start`, by the clock on the wall), and of everything that
/// a thread does for one request (`begin`, by the thread's processor time, so that a busy host makes no query slow).
/// Reading the thread's processor time is a system call, so it is read only when, by the monotonic clock, it can have
/// reached the limit at all.
final class TimeLimit {
    /// The reasons for which statements are ended.
    enum End {
        /// The work goes on elsewhere: `ReadOverrun`.
        case slice
        /// The request has used what it may: `.timeout` (124).
        case budget
        /// One call took too long: `.timeout` (124).
        case call
    }

    /// The time that one request may take of a thread.
    struct Allowance {
        /// Nanoseconds of processor time.
        var nanoseconds: UInt64
        /// The reason that statements are ended for when they are used up.
        var end: End
    }

    private var callLimit: UInt64 = 0
    private var callStartedAt: UInt64 = 0
    private var allowance: Allowance?
    private var processorStart: UInt64?
    private var isMeasuring = false
    private var nextLook: UInt64 = 0
    /// Nanoseconds that a server was waited for, of the work for one request.
    private(set) var waited: UInt64 = 0
    /// The monotonic time at which the account ends; 0 for none. An account is work that asks only between its parts
    /// whether it may go on.
    private var accountEnd: UInt64 = 0
    /// Set when statements were ended; a slice or budget that is used up stays so until the next allowance.
    private(set) var end: End?
    /// Calls of the functions that look into rows.
    private(set) var functionCalls = 0

    /// Instructions of SQLite's virtual machine between two calls of the handler: some ten microseconds, unless rows
    /// are large.
    private static let instructions: Int32 = 1000

    func install(on handle: OpaquePointer) {
        sqlite3_progress_handler(
            handle, Self.instructions,
            { context in
                guard let context else { return 0 }
                return Unmanaged<TimeLimit>.fromOpaque(context).takeUnretainedValue().isOver ? 1 : 0
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    /// Begins, or with nil ends, the work for one request.
    /// - Parameter processorStart: the thread's processor time at the beginning. Without it the measuring begins when
    ///   the allowance has passed on the wall: what is shorter never pays for it, and what is longer gets up to twice
    ///   as much.
    func begin(_ allowance: Allowance?, processorStart: UInt64? = nil) {
        self.allowance = allowance
        self.processorStart = processorStart
        isMeasuring = processorStart != nil
        nextLook = 0
        waited = 0
        end = nil
    }

    /// Begins one call. Calls may be nested; the outer one's limit counts for all.
    /// - Returns: whether it is the outer one, which must call `stop`.
    func start(_ limit: Duration) -> Bool {
        guard callLimit == 0 else { return false }
        callLimit = UInt64(min(max(1, limit / .nanoseconds(1)), 1e18))
        callStartedAt = 0
        nextLook = 0
        if end == .call { end = nil }
        return true
    }

    func stop() { callLimit = 0 }

    /// Begins, or with 0 ends, work that is only asked between its parts whether it may go on.
    func beginAccount(end: UInt64) { accountEnd = end }

    /// - Throws: `.timeout` (124) when the account's time is over.
    func checkAccount() throws { if accountEnd > 0, Self.monotonic > accountEnd { throw Self.budgetSpent } }

    /// The waits for a server that count as one, for work that can go on elsewhere: a network and other clients of the
    /// server lie in between, and to begin anew costs it more than to wait a little.
    private static let waitsPerSlice: UInt64 = 10

    /// The time on the wall that is left to a server for the work of one request; nil where there is no allowance.
    var left: Duration? {
        guard let allowance else { return nil }
        guard allowance.end == .budget else {
            let all = allowance.nanoseconds.multipliedReportingOverflow(by: Self.waitsPerSlice).partialValue
            return .nanoseconds(Int64(clamping: all > waited ? all - waited : 0))
        }
        let used = waited &+ (processorStart.map { Self.processor &- $0 } ?? 0)
        return .nanoseconds(Int64(clamping: allowance.nanoseconds > used ? allowance.nanoseconds - used : 0))
    }

    /// A server was waited for.
    func add(waited nanoseconds: UInt64) { waited &+= nanoseconds }

    /// Nanoseconds of the allowance that waiting used up.
    private func counted(_ allowance: Allowance) -> UInt64 {
        allowance.end == .slice ? waited / Self.waitsPerSlice : waited
    }

    /// Ends the work for want of an allowance: sends it elsewhere before it began, or after a server used it up.
    func decline() { end = allowance?.end ?? .slice }

    /// Whether the running statement must end. Never outside of a call: an interrupted change would undo its whole
    /// transaction.
    var isOver: Bool {
        guard callLimit > 0 else { return false }
        if end != nil { return true }
        let now = Self.monotonic
        return now >= nextLook && look(now)
    }

    /// Asked by each of our functions for each row.
    /// - Returns: false when the time is over.
    func admitsCall() -> Bool {
        functionCalls &+= 1
        return !isOver
    }

    /// - Throws: `error` when time is over, for work between statements.
    func check() throws { if isOver { throw error } }

    private func look(_ now: UInt64) -> Bool {
        if callStartedAt == 0 { callStartedAt = now }
        let callEnd = callStartedAt &+ callLimit
        if now >= callEnd {
            end = .call
            return true
        }
        nextLook = callEnd
        guard let allowance else { return false }
        var used: UInt64 = 0
        if isMeasuring {
            let processor = Self.processor
            used = processor &- (processorStart ?? processor)
            processorStart = processorStart ?? processor
        }
        isMeasuring = true
        used &+= counted(allowance)
        if used >= allowance.nanoseconds {
            end = allowance.end
            return true
        }
        nextLook = min(callEnd, now &+ (allowance.nanoseconds - used))
        return false
    }

    /// The error that an ended statement is reported as.
    var error: any Error {
        switch end {
        case .slice: ReadOverrun()
        case .budget: TimeLimit.budgetSpent
        case .call, nil: ParseError(.timeout, "The query took too long.")
        }
    }

    static let budgetSpent = ParseError(.timeout, "The request took too much processor time.")

    /// Nanoseconds.
    static var monotonic: UInt64 { nanoseconds(CLOCK_MONOTONIC) }
    /// Nanoseconds of the calling thread.
    static var processor: UInt64 { nanoseconds(CLOCK_THREAD_CPUTIME_ID) }

    private static func nanoseconds(_ clock: clockid_t) -> UInt64 {
        var time = timespec()
        clock_gettime(clock, &time)
        return UInt64(time.tv_sec) &* 1_000_000_000 &+ UInt64(time.tv_nsec)
    }
}
