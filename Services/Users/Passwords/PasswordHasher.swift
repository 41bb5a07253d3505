import Foundation
import MessageBus
import ObjectStore
import ParseProtocol
import ProcessKit
import ServiceKit
import Synchronization

/// A queue for each purpose, so that a flood of sign-ups does not keep users from signing in.
package struct PasswordHashers: Sendable {
    package let newPasswords: PasswordHasher
    package let signIns: PasswordHasher

    /// - Parameter threads: passwords of each purpose that are hashed at once. Of those that devices bring which their
    ///   account knows, one more is.
    package init(cost: ScryptCost, threads: Int = 1) {
        newPasswords = PasswordHasher(cost: cost, threads: threads)
        signIns = PasswordHasher(cost: cost, threads: threads, knownThreads: 1)
    }

    /// `SATCHEL_PASSWORD_THREADS`, 1 to 64: the ceiling of the work that strangers can cause. Half of the processors
    /// when it is not set.
    /// - Throws: `StartupProblem`.
    init(_ settings: Settings) throws(StartupProblem) {
        let standard = max(1, min(ProcessInfo.processInfo.activeProcessorCount / 2, 64))
        self.init(
            cost: try ScryptCost(settings),
            threads: try settings.number("satchel.password.threads", 1...64, default: standard))
    }
}

/// Hashes and checks passwords on threads of its own, so that a rush of sign-ins leaves the rest of the service its
/// cores. Each hash is on the account of its request (`RequestBudget`).
///
/// A thread is begun where `HashingQueue` has a place for it, and no pool is in between: one with as many threads as
/// there are processors was filled by strangers' rushes, and the place kept for known devices was none.
package final class PasswordHasher: Sendable {
    private struct Job: Sendable {
        let isKnown: Bool
        let run: @Sendable () -> Void
        let refuse: @Sendable () -> Void
    }

    private let cost: ScryptCost
    /// 32 of a client wait: at 0.2 s each, a lone client's last turn comes within `patience`. Of all 512, at some KB
    /// each.
    private let queue: Mutex<HashingQueue<Job>>
    /// The hash that a sign-in to an unknown account is checked against, so that it takes as long as any other.
    private let nobody: Mutex<PasswordHash?> = Mutex(nil)

    /// A client waits 10 s. Whoever waited this long is told to come again; hashing would only keep others waiting.
    private static let patience = 7.0
    /// The priority of the threads (nice 2): processors that are scarce go to what is short.
    private static let niceness: Int32 = 2
    package static let busy = ParseError.tooManyRequests(
        "Too many sign-ins at this moment. Please try again.", retryAfterSeconds: 2)

    /// - Parameters:
    ///   - threads: passwords that are hashed at once.
    ///   - knownThreads: of known clients so many more.
    package init(cost: ScryptCost, threads: Int = 1, knownThreads: Int = 0) {
        self.cost = cost
        queue = Mutex(
            HashingQueue(runningMax: threads, knownExtra: knownThreads, waitingMax: 512, perClientMax: 32))
    }

    /// The hash of a new password, in stored form; nil when it is one of the former ones.
    /// - Parameter former: stored hashes of which it must be none. With them it is one piece of work: a password that
    ///   may be chosen is never refused because the looking took long.
    /// - Throws: `.requestLimitExceeded` (155) when too many of the client's, or of all, wait, `.timeout` (124) when
    ///   too little is left of the request's budget.
    package func hash(
        _ password: String, unlessAmong former: [String] = [], for client: HashingClient
    ) async throws -> String? {
        try Self.requireBudget()
        for stored in former where try await matches(password, stored, for: client) { return nil }
        return try await run(for: client) { [cost] in try PasswordHash(of: password, cost: cost).phc }
    }

    /// Whether the password is the one that was hashed. False, and as slow, when there is no hash.
    /// - Throws: `.requestLimitExceeded` (155) when too many of the client's, or of all, wait, `.timeout` (124) when
    ///   too little is left of the request's budget.
    package func verify(_ password: String, against stored: String?, for client: HashingClient) async throws -> Bool {
        try Self.requireBudget()
        return try await matches(password, stored, for: client)
    }

    /// A hash cannot be ended once it was begun, so that a batch could make as many as it has items.
    private static func requireBudget() throws {
        if let budget = RequestBudget.current, !budget.admitsPiece { throw ParseError(.budgetSpent) }
    }

    private func matches(_ password: String, _ stored: String?, for client: HashingClient) async throws -> Bool {
        try await run(for: client) { [self] in
            if let hash = stored.flatMap(PasswordHash.init(phc:)) { return try hash.matches(password) }
            _ = try unknown().matches(password)
            return false
        }
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
        for client: HashingClient, _ work: @escaping @Sendable () throws -> T
    ) async throws -> T {
        let budget = RequestBudget.current
        return try await withCheckedThrowingContinuation { continuation in
            let job = Job(
                isKnown: client.isKnown,
                run: {
                    let start = ThreadTime.nanoseconds
                    let result = Result(catching: work)
                    // Before the answer, which says what was used.
                    budget?.usePiece(Int64((ThreadTime.nanoseconds - start) / 1000))
                    continuation.resume(with: result)
                }, refuse: { continuation.resume(throwing: Self.busy) })
            switch queue.withLock({ $0.submitted(job, by: client, at: Self.seconds) }) {
            case .run(let job): begin(with: job)
            case .wait: break
            case .refuse: job.refuse()
            case .waitInsteadOf(let other): other.refuse()
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
