import ParseProtocol

/// A client in the queue for password hashing. The queue is fair: one client delays another by at most one hash.
package struct HashingClient: Hashable, Sendable {
    /// Identifies a network, or a known device of an account.
    package let key: String
    /// True for a known device of the account and for the master key, which precede unknown clients.
    package let isKnown: Bool
    /// The network of an unknown client.
    package let network: ClientNetwork?

    package init(_ key: String, isKnown: Bool = false) {
        self.key = key
        self.isKnown = isKnown
        network = nil
    }

    /// - Parameter network: in the form of `Principal.network`.
    package init(network: String) {
        key = "network:\(network)"
        isKnown = false
        self.network = ClientNetwork(network)
    }
}

/// Decides which password is hashed next. Few hashes run at once, because each takes a core and 16 MiB, and a limited
/// number waits.
///
/// The client with the least recent use goes first. A client's use is the number of its recent hashes, or a quarter of
/// its wide network's, whichever is larger. So a flood from many addresses queues behind new clients. Within a client
/// the order is first come, first served. When many new clients arrive at once, the latest goes first: in order, each
/// would wait longer than users do. Known devices get three of four turns and have reserved slots, so they need not
/// wait for an unknown client's hash to end.
package struct HashingQueue<Job> {
    package enum Admission {
        case run(Job)
        case wait
        case refuse
        /// The new job waits. This one, the last of the client with most jobs, is evicted.
        case waitAndEvict(Job)
    }

    private struct Line {
        var jobs: [(job: Job, since: Double)] = []
        /// The sequence number of the oldest job's arrival.
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
    private var wideUsage: [UInt64: Usage] = [:]
    private var arrivals = 0
    private var knownTurns = 0
    private let runningMax: Int
    private let knownExtra: Int
    private let waitingMax: Int
    private let perClientMax: Int

    /// Half-life of recorded use, in seconds.
    private static var halfLife: Double { 60 }
    /// Limit of clients with recorded use, at about 100 bytes each.
    private static var usagesMax: Int { 8192 }
    private static var knownTurnsMax: Int { 3 }
    /// Limit of new clients served in order: at 0.2 to 0.4 s each, the last one waits less than 2 s.
    private static var newcomersMax: Int { 4 }

    /// - Parameters:
    ///   - runningMax: concurrent jobs; hard limit for unknown clients.
    ///   - knownExtra: additional concurrent jobs for known clients.
    ///   - waitingMax: limit of waiting jobs.
    ///   - perClientMax: limit of waiting jobs per client.
    package init(runningMax: Int, knownExtra: Int = 0, waitingMax: Int, perClientMax: Int) {
        self.runningMax = runningMax
        self.knownExtra = knownExtra
        self.waitingMax = waitingMax
        self.perClientMax = perClientMax
    }

    /// - Parameter now: seconds of a monotonic clock.
    package mutating func submitted(_ job: Job, by client: HashingClient, at now: Double) -> Admission {
        if hasThread(isKnown: client.isKnown) {
            begin(client, at: now)
            return .run(job)
        }
        let own = lines[client]?.jobs.count ?? 0
        guard own < perClientMax else { return .refuse }
        var evicted: Job?
        if waiting >= waitingMax {
            // A new client's job evicts one of the client with most jobs.
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
        return evicted.map(Admission.waitAndEvict) ?? .wait
    }

    /// The job to run after another one has ended.
    /// - Parameter isKnown: whether the ended job was a known client's.
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

    /// Removes and returns the jobs that have waited since before `time`.
    package mutating func overdue(since time: Double) -> [Job] {
        var overdue: [Job] = []
        for (client, line) in lines {
            // The jobs of a client are in order of arrival.
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
        // All slots of unknown clients are taken; their next job starts when one of those ends.
        guard hasThread(isKnown: false) else { return first(isKnown: true) }
        let newcomers = lines.filter { !$0.key.isKnown && used(by: $0.key, at: now) == 0 }
        let latest = newcomers.max { $0.value.arrival < $1.value.arrival }?.key
        let (known, unknown) = (
            first(isKnown: true), newcomers.count > Self.newcomersMax ? latest : first(isKnown: false)
        )
        return knownTurns < Self.knownTurnsMax ? known ?? unknown : unknown ?? known
    }

    private func used(by client: HashingClient, at now: Double) -> Double {
        max(usage[client].map { Self.rest(of: $0, at: now) } ?? 0, usedAround(client, at: now))
    }

    private func usedAround(_ client: HashingClient, at now: Double) -> Double {
        guard let usage = client.network.flatMap({ wideUsage[$0.wide] }) else { return 0 }
        return (Self.rest(of: usage, at: now) / Double(ClientNetwork.wideFactor)).rounded(.down)
    }

    /// The remaining use in whole jobs. Rounding makes clients equal whose last turns differ only slightly in time.
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
            // All recorded clients are active; the record starts over.
            if usage.count >= Self.usagesMax { usage = [:] }
        }
        usage[client] = Usage(jobs: (usage[client].map { Self.rest(of: $0, at: now) } ?? 0) + 1, at: now)
        guard let wide = client.network?.wide else { return }
        if wideUsage.count >= Self.usagesMax, wideUsage[wide] == nil {
            wideUsage = wideUsage.filter { Self.rest(of: $0.value, at: now) > 0 }
            if wideUsage.count >= Self.usagesMax { wideUsage = [:] }
        }
        wideUsage[wide] = Usage(jobs: (wideUsage[wide].map { Self.rest(of: $0, at: now) } ?? 0) + 1, at: now)
    }
}
