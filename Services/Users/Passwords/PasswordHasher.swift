import Foundation
import MessageBus
import ObjectStore
import ParseProtocol
import ProcessKit
import ServiceKit
import Synchronization

/// The two password hashers of the service, each with its own queue, so that a flood of sign-ups does not delay
/// sign-ins.
package struct PasswordHashers: Sendable {
    package let newPasswords: PasswordHasher
    package let signIns: PasswordHasher

    /// - Parameter threads: concurrent hashes per purpose. Known devices of an account may use one more for sign-ins.
    package init(cost: ScryptCost, threads: Int = 1) {
        newPasswords = PasswordHasher(cost: cost, threads: threads)
        signIns = PasswordHasher(cost: cost, threads: threads, knownThreads: 1)
    }

    /// `SATCHEL_PASSWORD_THREADS`, 1 to 64: limits the work that unknown clients can cause. Half of the processors by
    /// default.
    /// - Throws: `StartupProblem`.
    init(_ settings: Settings) throws(StartupProblem) {
        let standard = max(1, min(ProcessInfo.processInfo.activeProcessorCount / 2, 64))
        self.init(
            cost: try ScryptCost(settings),
            threads: try settings.number("satchel.password.threads", 1...64, default: standard))
    }
}

/// The result of a check of a password.
package struct PasswordCheck: Sendable {
    package let isRight: Bool
    /// The hash to store in place of a bcrypt hash that the password matched.
    package let replacement: String?
}

/// Hashes and checks passwords on separate threads, so that a rush of sign-ins leaves processor time for the rest of
/// the service. Each hash is charged to the budget of its request.
///
/// A thread starts when `HashingQueue` has a free slot. There is deliberately no thread pool in between: unknown
/// clients could fill all of its threads, so that the slot reserved for known devices would be useless.
package final class PasswordHasher: Sendable {
    private struct Job: Sendable {
        let isKnown: Bool
        let run: @Sendable () -> Void
        let refuse: @Sendable () -> Void
    }

    private let cost: ScryptCost
    /// Limits: 32 waiting jobs per client, so that a single client's last job starts within `patience` at 0.2 s each;
    /// 512 in total, at some KB each.
    private let queue: Mutex<HashingQueue<Job>>
    /// A hash for sign-ins to unknown accounts, so that they take as long as any other.
    private let nobody: Mutex<PasswordHash?> = Mutex(nil)

    /// Maximum wait in seconds. Clients time out after 10 s, so a job that waited longer is refused with a retry hint.
    private static let patience = 7.0
    /// Thread priority (nice 2): short work goes first when processors are scarce.
    private static let niceness: Int32 = 2
    package static let busy = ParseError.tooManyRequests(
        "Too many sign-ins at this moment. Please try again.", retryAfterSeconds: 2)

    /// - Parameters:
    ///   - threads: concurrent hashes.
    ///   - knownThreads: additional concurrent hashes for known clients.
    package init(cost: ScryptCost, threads: Int = 1, knownThreads: Int = 0) {
        self.cost = cost
        queue = Mutex(
            HashingQueue(runningMax: threads, knownExtra: knownThreads, waitingMax: 512, perClientMax: 32))
    }

    /// The stored form of a new password's hash; nil when the password is one of the former ones.
    /// - Parameters:
    ///   - former: stored hashes that the password must not match. The budget is checked once for all of them and the
    ///     new hash, so that a valid password is not refused because the comparisons took long.
    ///   - budget: of the request; nil for none.
    /// - Throws: `.requestLimitExceeded` (155) when too many jobs of the client, or of all clients, wait; `.timeout`
    ///   (124) when the request's budget is too low.
    package func hash(
        _ password: String, unlessAmong former: [String] = [], for client: HashingClient,
        charging budget: RequestBudget?
    ) async throws -> String? {
        try Self.require(budget)
        for stored in former where try await matches(password, stored, for: client, budget) { return nil }
        return try await run(for: client, budget) { [cost] in try PasswordHash(of: password, cost: cost).phc }
    }

    /// Whether the password matches the hash. Without a hash: false, after the same time.
    /// - Parameter budget: of the request; nil for none.
    /// - Throws: `.requestLimitExceeded` (155) when too many jobs of the client, or of all clients, wait; `.timeout`
    ///   (124) when the request's budget is too low.
    package func verify(
        _ password: String, against stored: String?, for client: HashingClient, charging budget: RequestBudget?
    ) async throws -> Bool {
        try Self.require(budget)
        return try await matches(password, stored, for: client, budget)
    }

    /// Checks a sign-in. Right or wrong, with a hash of either kind or none, it takes the same time: one hash of ours
    /// and, while there are moved users, one bcrypt hash of their highest cost.
    /// - Parameters:
    ///   - movedCost: that cost; nil without such users.
    ///   - budget: of the request; nil for none.
    /// - Throws: as `verify`.
    package func check(
        _ password: String, against stored: String?, movedCost: Int?, for client: HashingClient,
        charging budget: RequestBudget?
    ) async throws -> PasswordCheck {
        try Self.require(budget)
        return try await run(for: client, budget) { [self] in
            let moved = stored.flatMap { BcryptHash($0) }
            if let movedCost { try BcryptHash.spend(from: moved?.cost, to: movedCost) }
            if let moved {
                let isRight = try moved.matches(password)
                let own = try PasswordHash(of: password, cost: cost).phc
                return PasswordCheck(
                    isRight: isRight, replacement: isRight && BcryptHash.covers(password) ? own : nil)
            }
            return PasswordCheck(isRight: try isRight(password, stored), replacement: nil)
        }
    }

    /// A hash cannot be interrupted, so without this check a batch could cause one per item.
    private static func require(_ budget: RequestBudget?) throws {
        if let budget, !budget.admitsPiece { throw ParseError(.budgetSpent) }
    }

    private func matches(
        _ password: String, _ stored: String?, for client: HashingClient, _ budget: RequestBudget?
    ) async throws -> Bool {
        try await run(for: client, budget) { [self] in try isRight(password, stored) }
    }

    private func isRight(_ password: String, _ stored: String?) throws -> Bool {
        if let hash = stored.flatMap(PasswordHash.init(phc:)) { return try hash.matches(password) }
        if let moved = stored.flatMap({ BcryptHash($0) }) { return try moved.matches(password) }
        _ = try unknown().matches(password)
        return false
    }

    private func unknown() throws -> PasswordHash {
        try nobody.withLock { known in
            if let known { return known }
            let made = try PasswordHash(of: Names.random(32), cost: cost)
            known = made
            return made
        }
    }

    private func run<T: Sendable>(
        for client: HashingClient, _ budget: RequestBudget?, _ work: @escaping @Sendable () throws -> T
    ) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            let job = Job(
                isKnown: client.isKnown,
                run: {
                    let start = ThreadTime.nanoseconds
                    let result = Result(catching: work)
                    // Must precede the answer, which reports the usage.
                    budget?.usePiece(Int64((ThreadTime.nanoseconds - start) / 1000))
                    continuation.resume(with: result)
                }, refuse: { continuation.resume(throwing: Self.busy) })
            switch queue.withLock({ $0.submitted(job, by: client, at: Self.seconds) }) {
            case .run(let job): begin(with: job)
            case .wait: break
            case .refuse: job.refuse()
            case .waitAndEvict(let other): other.refuse()
            }
        }
    }

    private func begin(with first: Job) {
        let thread = Thread { [self] in
            ThreadPriority.lower(to: Self.niceness)
            work(from: first)
        }
        thread.name = "password"
        thread.start()
    }

    private func work(from first: Job) {
        var next: Job? = first
        while let job = next {
            job.run()
            let now = Self.seconds
            let (following, overdue) = queue.withLock { queue in
                let overdue = queue.overdue(since: now - Self.patience)
                return (queue.ended(isKnown: job.isKnown, at: now), overdue)
            }
            overdue.forEach { $0.refuse() }
            next = following
        }
    }

    private static let start = ContinuousClock.now
    private static var seconds: Double { (ContinuousClock.now - start) / .seconds(1) }
}
