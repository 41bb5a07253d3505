/// The jobs of one transaction and the number of its conflicts: decides without I/O how the jobs are retried.
///
/// A piece is retried several times as a whole, then in halves. Jobs that conflict on every try thus end up alone and
/// delay no other job.
package struct JobBatch<Job> {
    package let jobs: [Job]
    /// The number of conflicts so far.
    package private(set) var repetitions = 0
    /// The transaction began after a failure that invisible rows may have caused, so it sees those rows. The next such
    /// failure is final.
    package var seesLatestCommits = false
    /// Each job gets a savepoint, because a job without one failed and the whole transaction was rolled back.
    package var usesSavepoints = false
    /// No other process may write during the transaction, because one of the jobs changes a class.
    package var isExclusive = false

    package init(jobs: [Job], seesLatestCommits: Bool = false) {
        self.jobs = jobs
        self.seesLatestCommits = seesLatestCommits
    }

    /// The time after which a group gives up on jobs that still conflict.
    package static var timeMax: Duration { .seconds(4) }
    /// Tries of several jobs in one transaction.
    package static var triesTogether: Int { 3 }
    /// Minimum tries of a single job, even after the group's time is over.
    package static var triesAloneMin: Int { 5 }

    package var isAlone: Bool { jobs.count == 1 }

    /// The pieces to try next, in their order.
    /// - Parameters:
    ///   - isLate: the group's time is over.
    ///   - splits: retry each job alone.
    /// - Returns: nil to give up.
    package func next(isLate: Bool, splits: Bool) -> [JobBatch]? {
        var again = self
        again.repetitions += 1
        if isAlone { return isLate && again.repetitions >= Self.triesAloneMin ? nil : [again] }
        if splits || isLate { return jobs.map { JobBatch(jobs: [$0]) } }
        guard again.repetitions >= Self.triesTogether else { return [again] }
        let middle = jobs.count / 2
        return [JobBatch(jobs: Array(jobs[..<middle])), JobBatch(jobs: Array(jobs[middle...]))]
    }

    /// The longest pause before the next try, in seconds; it grows with each conflict.
    package var pauseMax: Double { min(0.002 * Double(1 << min(repetitions, 10)), 0.064) }
}
