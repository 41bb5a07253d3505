import CSQLite
import Glibc
import ParseProtocol

/// A read exceeded its time slice, or a query that was not quick before was refused (`acceptsOnlyQuick`). Nothing was
/// changed: the caller runs the same read again on a thread where it may take longer.
public struct ReadOverrun: Error {}

/// Interrupts statements that run for too long. SQLite's progress handler checks it, and so does each costly SQL
/// function. With PostgreSQL the remaining time (`left`) becomes the server's timeout, and the time spent waiting for
/// the server counts as used (`add`).
///
/// Two limits apply at once. One is for each call of the reader (`start`), in wall time. The other is for all work of a
/// thread for one request (`begin`), in the thread's processor time, so that a busy host makes no query slow. Reading
/// the processor time is a system call. It is therefore read only when enough wall time has passed to reach the limit.
final class TimeLimit {
    /// Why statements are interrupted.
    enum End {
        /// The slice is used up; the work continues on another thread: `ReadOverrun`.
        case slice
        /// The request's budget is spent: `.timeout` (124).
        case budget
        /// One call took too long: `.timeout` (124).
        case call
    }

    /// The processor time that one request may use on a thread.
    struct Allowance {
        /// Nanoseconds of processor time.
        var nanoseconds: UInt64
        /// Why statements are interrupted when it is used up.
        var end: End
    }

    private var callLimit: UInt64 = 0
    private var callStartedAt: UInt64 = 0
    private var allowance: Allowance?
    private var processorStart: UInt64?
    private var isMeasuring = false
    private var nextLook: UInt64 = 0
    /// Ends a call of minutes before its limit. Called once a second.
    var endsEarly: (() -> Bool)?
    /// Nanoseconds spent waiting for a server during the work for one request.
    private(set) var waited: UInt64 = 0
    /// The monotonic time at which the account ends; 0 for none. An account covers work that checks the limit only
    /// between its parts (`checkAccount`), such as changes.
    private var accountEnd: UInt64 = 0
    /// Set when statements were interrupted. `.slice` and `.budget` remain set until the next allowance.
    private(set) var end: End?
    /// Calls of Satchel's SQL functions since the connection was opened.
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

    /// Begins the work for one request; nil ends it.
    /// - Parameter processorStart: the thread's processor time at the beginning. Without it, measuring begins only when
    ///   the allowance has passed in wall time. Shorter work then costs no system call, and longer work gets up to
    ///   twice the allowance.
    func begin(_ allowance: Allowance?, processorStart: UInt64? = nil) {
        self.allowance = allowance
        self.processorStart = processorStart
        isMeasuring = processorStart != nil
        nextLook = 0
        waited = 0
        end = nil
    }

    /// Begins one call. Calls may be nested; the outermost limit applies to all of them.
    /// - Returns: whether this is the outermost call, which must call `stop`.
    func start(_ limit: Duration) -> Bool {
        guard callLimit == 0 else { return false }
        callLimit = UInt64(min(max(1, limit / .nanoseconds(1)), 1e18))
        callStartedAt = 0
        nextLook = 0
        if end == .call { end = nil }
        return true
    }

    func stop() { callLimit = 0 }

    /// Begins an account; 0 ends it.
    func beginAccount(end: UInt64) { accountEnd = end }

    /// - Throws: `.timeout` (124) when the account's time is over.
    func checkAccount() throws { if accountEnd > 0, Self.monotonic > accountEnd { throw Self.budgetSpent } }

    /// This many nanoseconds of waiting for a server count as one nanosecond of a slice. The wait includes the network
    /// and other clients of the server, and restarting the read costs more than waiting a little.
    private static let waitsPerSlice: UInt64 = 10

    /// The wall time that a server may still use for the work of one request; nil without an allowance.
    var left: Duration? {
        guard let allowance else { return nil }
        guard allowance.end == .budget else {
            let all = allowance.nanoseconds.multipliedReportingOverflow(by: Self.waitsPerSlice).partialValue
            return .nanoseconds(Int64(clamping: all > waited ? all - waited : 0))
        }
        let used = waited &+ (processorStart.map { Self.processor &- $0 } ?? 0)
        return .nanoseconds(Int64(clamping: allowance.nanoseconds > used ? allowance.nanoseconds - used : 0))
    }

    /// Adds time spent waiting for a server.
    func add(waited nanoseconds: UInt64) { waited &+= nanoseconds }

    /// Nanoseconds of the allowance that waiting used.
    private func counted(_ allowance: Allowance) -> UInt64 {
        allowance.end == .slice ? waited / Self.waitsPerSlice : waited
    }

    /// Interrupts the work: a query is refused before it begins, or a server used up the allowance.
    func decline() { end = allowance?.end ?? .slice }

    /// Whether the running statement must be interrupted. False outside of a call: interrupting a change would roll
    /// back its whole transaction.
    var isOver: Bool {
        guard callLimit > 0 else { return false }
        if end != nil { return true }
        let now = Self.monotonic
        return now >= nextLook && look(now)
    }

    /// Called by each of Satchel's SQL functions for each row.
    func admitsCall() -> Bool {
        functionCalls &+= 1
        return !isOver
    }

    /// The limit of the connection that calls one of Satchel's SQL functions. Nil when the time is over; the function's
    /// result is then set.
    static func admitted(_ context: OpaquePointer?) -> TimeLimit? {
        guard let pointer = sqlite3_user_data(context) else { return nil }
        let limit = Unmanaged<TimeLimit>.fromOpaque(pointer).takeUnretainedValue()
        if limit.admitsCall() { return limit }
        sqlite3_result_error_code(context, SQLITE_INTERRUPT)
        return nil
    }

    /// - Throws: `error` when the time is over, for work between statements.
    func check() throws { if isOver { throw error } }

    private func look(_ now: UInt64) -> Bool {
        if callStartedAt == 0 { callStartedAt = now }
        let callEnd = callStartedAt &+ callLimit
        if now >= callEnd || endsEarly?() == true {
            end = .call
            return true
        }
        nextLook = endsEarly == nil ? callEnd : min(callEnd, now &+ 1_000_000_000)
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

    /// The error for an interrupted statement.
    var error: any Error {
        switch end {
        case .slice: ReadOverrun()
        case .budget: TimeLimit.budgetSpent
        case .call, nil: ParseError(.timeout, "The query took too long.")
        }
    }

    static let budgetSpent = ParseError(.timeout, "The request took too much processor time.")

    /// Nanoseconds.
    static var monotonic: UInt64 { SystemClock.monotonic }
    /// Nanoseconds of the calling thread.
    static var processor: UInt64 { SystemClock.threadTime }
}
