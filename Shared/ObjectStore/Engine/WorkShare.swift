import Glibc
import ParseProtocol

/// The client that a piece of work is charged to, and the budget left for it.
public struct WorkShare: Sendable {
    /// The client that the work counts for in the scheduling of threads and queues.
    public let client: WorkClient
    /// The budget that the work is charged to.
    public let meter: any WorkMeter
    /// The number of objects that each write changes; 1 or more.
    public let weight: Int

    /// A share of `client` that is measured by `meter`.
    /// - Parameter weight: the number of objects to change, as far as the request shows; less than 1 counts as 1.
    public init(client: WorkClient, meter: any WorkMeter, weight: Int = 1) {
        self.client = client
        self.meter = meter
        self.weight = max(1, weight)
    }
}

/// The client that work is scheduled for.
public enum WorkClient: Hashable, Sendable {
    /// The shop itself and its operator.
    case shop
    /// A number of the user at this network, or of the network. Scheduling divides by network first; nil for a client
    /// whose network is not scheduled separately.
    case client(Int, at: ClientNetwork? = nil)

    /// The network that the client's use counts for.
    var network: ClientNetwork? { if case .client(_, let network) = self { network } else { nil } }
}

/// The processor time of threads, for charging budgets.
package enum ThreadTime {
    /// Nanoseconds of processor time that the calling thread has used so far.
    package static var nanoseconds: UInt64 { TimeLimit.processor }
}

/// The priority of threads that do long work.
package enum ThreadPriority {
    /// Lowers the calling thread's priority, which Linux allows for a single thread (sched(7)). If the call fails,
    /// results stay correct but other threads get slower.
    /// - Parameter niceness: 1 to 19; at 10 other threads get nine times as much time where processors are scarce.
    package static func lower(to niceness: Int32) {
        _ = setpriority(__priority_which_t(PRIO_PROCESS.rawValue), 0, niceness)
    }
}

/// A request's budget of time. Reads are charged processor time and their waits for a server, writes the elapsed time.
public protocol WorkMeter: AnyObject, Sendable {
    /// Microseconds; at least 0.
    var left: Int64 { get }
    /// Charges used microseconds.
    func use(_ microseconds: Int64)
}

extension ObjectReader {
    /// Checks the budget. Call it between the parts of a long piece of work, such as the changes of a batch: changes
    /// themselves are never interrupted, because that would roll back other clients' changes in the same commit.
    /// - Throws: `.timeout` (124) when the request's budget is spent.
    public func requireBudget() throws { try connection.timeLimit.checkAccount() }

    /// Runs `body` and charges it to `share`: calls to the store end when its budget is spent.
    /// - Parameter charged: the microseconds already charged for the same work before a rollback; only use beyond them
    ///   is charged.
    /// - Throws: `.timeout` (124) when the budget is spent.
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
