/// The jobs of one transaction, and how often they were overtaken: decides without I/O what becomes of them.
///
/// A piece is tried some times as a whole, then in halves, so that in the end those that others overtake all the time
/// stand alone and hold up nobody.
package struct GroupPiece<Job> {
    package let jobs: [Job]
    /// The times that it was overtaken.
    package private(set) var repetitions = 0
    /// A failure that may come of what a transaction does not see is believed: the transaction began after such a
    /// failure, so that it sees what was in the way.
    package var seesAll = false
    /// Each job has a savepoint: one of them failed as part of a transaction that was taken back whole for it.
    package var isCareful = false

    package init(jobs: [Job], seesAll: Bool = false) {
        self.jobs = jobs
        self.seesAll = seesAll
    }

    /// The time after which a group gives up what others overtake.
    static var timeMax: Duration { .seconds(4) }
    /// Tries of several jobs as one transaction.
    package static var triesTogether: Int { 3 }
    /// Tries of one job, also when its group's time is over.
    package static var triesAloneMin: Int { 5 }

    package var isAlone: Bool { jobs.count == 1 }

    /// The pieces that are tried next, in their order.
    /// - Parameters:
    ///   - isLate: the group's time is over.
    ///   - splits: each job alone.
    /// - Returns: nil to give up.
    package func next(isLate: Bool, splits: Bool) -> [GroupPiece]? {
        var again = self
        again.repetitions += 1
        if isAlone { return isLate && again.repetitions >= Self.triesAloneMin ? nil : [again] }
        if splits || isLate { return jobs.map { GroupPiece(jobs: [$0]) } }
        guard again.repetitions >= Self.triesTogether else { return [again] }
        let middle = jobs.count / 2
        return [GroupPiece(jobs: Array(jobs[..<middle])), GroupPiece(jobs: Array(jobs[middle...]))]
    }

    /// The longest pause before it is tried again, in seconds; it grows.
    package var pauseMax: Double { min(0.002 * Double(1 << min(repetitions, 10)), 0.064) }
}
