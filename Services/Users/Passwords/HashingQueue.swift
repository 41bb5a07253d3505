/// A client that waits for a password to be hashed. Clients share: what one of them does keeps the others waiting for
/// one hash at most.
package struct HashingClient: Hashable, Sendable {
    /// Of a network, or of a device that an account knows.
    package let key: String
    /// A device of the account, or the master key: it goes before those that nobody knows.
    package let isKnown: Bool

    package init(_ key: String, isKnown: Bool = false) {
        self.key = key
        self.isKnown = isKnown
    }
}

/// Decides whose password is hashed next: few at once, because each takes a core and 16 MiB, and a bounded number
/// waiting.
///
/// The turn goes to the client that had least work done in the last minutes, so that a flood from many places is behind
/// everybody who comes for the first time; within a client the order is that of arrival. Where many come for the first
/// time at once, the last of them goes first: in order each would wait longer than people do. Known devices go first in
/// three of four turns, and have a place that nobody else takes: they do not wait for the end of a stranger's hash.
package struct HashingQueue<Job> {
    package enum Admission {
        case run(Job)
        case wait
        case refuse
        /// The new job waits, and this one, the last of the client with most jobs, no longer does.
        case waitInsteadOf(Job)
    }

    private struct Line {
        var jobs: [(job: Job, since: Double)] = []
        /// Number of the oldest job's arrival.
        var arrival = 0
    }

    private struct Usage {
        var jobs: Double
        var at: Double
    }

    private var running = (all: 0, strangers: 0)
    private var waiting = 0
    private var lines: [HashingClient: Line] = [:]
    private var usage: [HashingClient: Usage] = [:]
    private var arrivals = 0
    private var knownTurns = 0
    private let runningMax: Int
    private let knownExtra: Int
    private let waitingMax: Int
    private let perClientMax: Int

    /// Seconds after which half of what a client had done is forgotten.
    private static var halfLife: Double { 60 }
    /// Clients whose work is remembered, at about 100 bytes each.
    private static var usagesMax: Int { 8192 }
    private static var knownTurnsMax: Int { 3 }
    /// Newcomers that wait in order: at 0.2 to 0.4 s each, the last one for less than 2 s.
    private static var newcomersMax: Int { 4 }

    /// - Parameters:
    ///   - runningMax: jobs that run at once; of strangers no more in any case.
    ///   - knownExtra: of known clients so many more.
    package init(runningMax: Int, knownExtra: Int = 0, waitingMax: Int, perClientMax: Int) {
        self.runningMax = runningMax
        self.knownExtra = knownExtra
        self.waitingMax = waitingMax
        self.perClientMax = perClientMax
    }

    /// - Parameter now: seconds of a clock that only goes forward.
    package mutating func submitted(_ job: Job, by client: HashingClient, at now: Double) -> Admission {
        if hasThread(isKnown: client.isKnown) {
            begin(client, at: now)
            return .run(job)
        }
        let own = lines[client]?.jobs.count ?? 0
        guard own < perClientMax else { return .refuse }
        var evicted: Job?
        if waiting >= waitingMax {
            // A newcomer finds room at the cost of whoever has most of it.
            guard
                let longest = lines.filter({ !$0.key.isKnown }).max(by: { $0.value.jobs.count < $1.value.jobs.count }),
                client.isKnown || longest.value.jobs.count > own + 1
            else { return .refuse }
            evicted = lines[longest.key]?.jobs.popLast()?.job
            if lines[longest.key]?.jobs.isEmpty ?? true { lines[longest.key] = nil }
            waiting -= 1
        }
        arrivals += 1
        lines[client, default: Line(arrival: arrivals)].jobs.append((job, now))
        waiting += 1
        return evicted.map(Admission.waitInsteadOf) ?? .wait
    }

    /// The job to run after one has ended.
    /// - Parameter isKnown: whether it was a known client's.
    package mutating func ended(isKnown: Bool, at now: Double) -> Job? {
        running.all -= 1
        if !isKnown { running.strangers -= 1 }
        guard let client = next(at: now), var line = lines[client], !line.jobs.isEmpty else { return nil }
        let job = line.jobs.removeFirst().job
        arrivals += 1
        line.arrival = arrivals
        lines[client] = line.jobs.isEmpty ? nil : line
        waiting -= 1
        knownTurns = client.isKnown ? knownTurns + 1 : 0
        begin(client, at: now)
        return job
    }

    /// The jobs that wait since before `time`, which do so no longer.
    package mutating func overdue(since time: Double) -> [Job] {
        var overdue: [Job] = []
        for (client, line) in lines {
            // Those of a line are in the order of their arrival.
            let count = line.jobs.prefix { $0.since < time }.count
            guard count > 0 else { continue }
            overdue += line.jobs.prefix(count).map(\.job)
            waiting -= count
            lines[client]?.jobs.removeFirst(count)
            if count == line.jobs.count { lines[client] = nil }
        }
        return overdue
    }

    private func hasThread(isKnown: Bool) -> Bool {
        running.all < runningMax + knownExtra && (isKnown || running.strangers < runningMax)
    }

    private mutating func begin(_ client: HashingClient, at now: Double) {
        running.all += 1
        if !client.isKnown { running.strangers += 1 }
        count(client, at: now)
    }

    private func next(at now: Double) -> HashingClient? {
        guard hasThread(isKnown: true) else { return nil }
        func first(isKnown: Bool) -> HashingClient? {
            lines.filter { $0.key.isKnown == isKnown }.min { a, b in
                let (left, right) = (used(by: a.key, at: now), used(by: b.key, at: now))
                return left == right ? a.value.arrival < b.value.arrival : left < right
            }?.key
        }
        // Strangers have their places already; the next of them begins when one of these ends.
        guard hasThread(isKnown: false) else { return first(isKnown: true) }
        let newcomers = lines.filter { !$0.key.isKnown && used(by: $0.key, at: now) == 0 }
        let latest = newcomers.max { $0.value.arrival < $1.value.arrival }?.key
        let (known, unknown) = (
            first(isKnown: true), newcomers.count > Self.newcomersMax ? latest : first(isKnown: false)
        )
        return knownTurns < Self.knownTurnsMax ? known ?? unknown : unknown ?? known
    }

    private func used(by client: HashingClient, at now: Double) -> Double {
        usage[client].map { Self.rest(of: $0, at: now) } ?? 0
    }

    /// The part of the usage that still counts, in whole jobs: a client that had its last turn a little later is not
    /// behind for that.
    private static func rest(of usage: Usage, at now: Double) -> Double {
        var (jobs, time) = (usage.jobs, now - usage.at)
        while time >= halfLife, jobs > 0.5 {
            jobs /= 2
            time -= halfLife
        }
        return jobs > 0.5 ? jobs.rounded() : 0
    }

    private mutating func count(_ client: HashingClient, at now: Double) {
        if usage.count >= Self.usagesMax, usage[client] == nil {
            usage = usage.filter { Self.rest(of: $0.value, at: now) > 0 }
            // All of them are busy; whom they are is learnt anew.
            if usage.count >= Self.usagesMax { usage = [:] }
        }
        usage[client] = Usage(jobs: used(by: client, at: now) + 1, at: now)
    }
}
