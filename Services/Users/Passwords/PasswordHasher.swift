import Dispatch
import ParseProtocol
import Synchronization

/// Decides when a password is hashed: few at once, because each takes a core and 16 MiB, and a bounded number waiting.
package struct HashingQueue<Job> {
    package enum Admission {
        case run(Job)
        case wait
        case refuse
    }

    private var running = 0
    private var waiting: [Job] = []
    private let runningMax: Int
    private let waitingMax: Int

    package init(runningMax: Int, waitingMax: Int) {
        self.runningMax = runningMax
        self.waitingMax = waitingMax
    }

    package mutating func submitted(_ job: Job) -> Admission {
        if running < runningMax {
            running += 1
            return .run(job)
        }
        guard waiting.count < waitingMax else { return .refuse }
        waiting.append(job)
        return .wait
    }

    /// The job to run after one has ended.
    package mutating func ended() -> Job? {
        if !waiting.isEmpty { return waiting.removeFirst() }
        running -= 1
        return nil
    }
}

/// A queue for each purpose, so that a flood of sign-ups does not keep users from signing in. Each hashes one password
/// at a time.
package struct PasswordHashers: Sendable {
    package let newPasswords: PasswordHasher
    package let signIns: PasswordHasher

    package init(cost: ScryptCost) {
        newPasswords = PasswordHasher(cost: cost)
        signIns = PasswordHasher(cost: cost)
    }
}

/// Hashes and checks passwords on threads of its own, so that a rush of sign-ins leaves the rest of the service its cores.
package final class PasswordHasher: Sendable {
    private typealias Job = @Sendable () -> Void

    private let cost: ScryptCost
    /// 32 wait: at 0.2 s each, the last one's turn comes within `patience`.
    private let queue = Mutex(HashingQueue<Job>(runningMax: 1, waitingMax: 32))
    private let threads = DispatchQueue(label: "satchel.passwords", qos: .utility, attributes: .concurrent)
    /// What a sign-in to an unknown account is checked against, so that it takes as long as any other.
    private let nobody: Mutex<PasswordHash?> = Mutex(nil)

    /// A client waits 10 s. Whoever waited this long is told to come again; hashing would only keep others waiting.
    private static let patience = Duration.seconds(7)
    private static let busy = ParseError(.serviceUnavailable, "Too many sign-ins at this moment. Please try again.")

    package init(cost: ScryptCost) { self.cost = cost }

    /// The hash of a new password, in stored form.
    /// - Throws: `ParseError` 2 when too many wait.
    package func hash(_ password: String) async throws -> String {
        try await run { [cost] in try PasswordHash(of: password, cost: cost).phc }
    }

    /// Whether the password is the one that was hashed. False, and as slow, when there is no hash.
    /// - Throws: `ParseError` 2 when too many wait.
    package func verify(_ password: String, against stored: String?) async throws -> Bool {
        try await run { [self] in
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

    private func run<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
        try await withCheckedThrowingContinuation { continuation in
            let patienceEnds = ContinuousClock.now + Self.patience
            let job: Job = {
                let isLate = ContinuousClock.now > patienceEnds
                continuation.resume(with: isLate ? .failure(Self.busy) : Result(catching: work))
            }
            switch queue.withLock({ $0.submitted(job) }) {
            case .run(let job): threads.async { self.work(from: job) }
            case .wait: break
            case .refuse: continuation.resume(throwing: Self.busy)
            }
        }
    }

    private func work(from first: @escaping Job) {
        var next: Job? = first
        while let job = next {
            job()
            next = queue.withLock { $0.ended() }
        }
    }
}
