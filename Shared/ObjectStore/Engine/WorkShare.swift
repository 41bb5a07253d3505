import Glibc

/// On whose account a piece of work is done, and what it may still cost. Bound to the task of a request, or passed
/// along with the work.
public struct WorkShare: Sendable {
    /// The share of the request that the current task works for; nil for the process's own work.
    @TaskLocal public static var current: WorkShare?

    /// The client whose share of threads and queues the work uses up.
    public let client: WorkClient
    /// The budget of processor time that the work is taken off.
    public let meter: any WorkMeter
    /// What there is to change in each write, in objects; 1 or more.
    public let weight: Int

    /// A share of `client` that is measured by `meter`.
    /// - Parameter weight: what there is to change, in objects, as far as the request tells; less than 1 counts as 1.
    public init(client: WorkClient, meter: any WorkMeter, weight: Int = 1) {
        self.client = client
        self.meter = meter
        self.weight = max(1, weight)
    }
}

/// The client that work is done for, as far as shares go.
public enum WorkClient: Hashable, Sendable {
    /// The shop itself and its operator.
    case shop
    /// A number that stands for an address or a user.
    case client(Int)
}

/// The processor time of threads, for work that is taken off a budget.
package enum ThreadTime {
    /// Nanoseconds that the calling thread has had so far.
    package static var nanoseconds: UInt64 { TimeLimit.processor }
}

/// The priority of threads whose work is long.
package enum ThreadPriority {
    /// Lowers the calling thread's priority, which Linux allows for one thread (sched(7)). Without it the work is right
    /// and others slower.
    /// - Parameter niceness: 1 to 19; at 10 others get nine times as much where processors are scarce.
    package static func lower(to niceness: Int32) {
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness)
    }
}

/// A request's budget of processor time.
public protocol WorkMeter: AnyObject, Sendable {
    /// Microseconds; at least 0.
    var left: Int64 { get }
    /// Takes off microseconds that were used.
    func use(_ microseconds: Int64)
}

extension ObjectReader {
    /// To be asked between the parts of a long piece of work, such as the changes of a batch: changes themselves are
    /// never interrupted, because that would undo what others changed in the same commit.
    /// - Throws: `.timeout` (124) when nothing is left of the request's budget.
    public func requireBudget() throws { try connection.timeLimit.checkAccount() }

    /// Runs `body` on the account of `share`: calls to the store end when nothing is left of its budget.
    /// - Parameter charged: the microseconds that the same work was charged before, when it was undone and is done
    ///   again; only what goes beyond them is taken off.
    /// - Throws: `.timeout` (124) then.
    func accounted<T>(_ share: WorkShare?, beyond charged: inout Int64, _ body: () throws -> T) throws -> T {
        guard let share else { return try body() }
        let left = share.meter.left + charged
        guard left > 0 else { throw TimeLimit.budgetSpent }
        let limit = connection.timeLimit
        limit.begin(.init(nanoseconds: UInt64(min(left, 1 << 50)) * 1000, end: .budget))
        let start = TimeLimit.monotonic
        limit.beginAccount(end: start + UInt64(min(left, 1 << 50)) * 1000)
        defer {
            limit.begin(nil)
            limit.beginAccount(end: 0)
            let used = Int64((TimeLimit.monotonic - start) / 1000)
            if used > charged {
                share.meter.use(used - charged)
                charged = used
            }
        }
        return try body()
    }
}
