import Foundation
import Logging
import ParseProtocol
import Synchronization

/// Runs the jobs of a group in one transaction. A job that could fail halfway has a savepoint, unless it seldom fails
/// (`StoreJob.seldomFails`). Only the writer's thread uses it.
///
/// A transaction is rolled back and retried when it conflicts with another process's, or when the server aborts it to
/// resolve a deadlock. `JobBatch` decides how its jobs are split and how often they are retried. Where only this
/// process writes, such conflicts come only from other programs in the same database.
final class GroupCommit {
    typealias Job = WriterThread.Job
    private typealias Piece = JobBatch<Job>

    /// The outcome of a transaction.
    struct Outcome {
        var failures: [(any Error)?]
        var actions: [@Sendable () -> Void] = []
        var watched: [StoredChange] = []
        var changes = ChangeSet()
        /// Indexes of jobs to retry: they may have failed because of rows that the transaction does not see.
        var unseen: [Int] = []
    }

    private enum Attempt {
        case ended(Outcome)
        case retry(RetryReason)
    }

    /// Why a transaction is retried. Nothing of it was stored.
    private enum RetryReason: Error, Equatable {
        /// Another transaction changed rows that this one read or wanted to change.
        case conflict
        /// Another process changed a class.
        case schemaChanged
        /// A job handled a failure that may come from rows that this transaction does not see. It is retried in a
        /// transaction that sees them.
        case invisibleRows
        /// A job without a savepoint failed, or a statement failed whose result no job awaited.
        case needsSavepoints
        /// A job changes a class while other processes may write.
        case needsExclusive
    }

    private let connection: any StoreConnection
    private let transaction: StoreTransaction
    private let writer: any StoreWriter
    private let settings: WriterThread.Settings
    private let logger: Logger
    private var times = WriteTimes()
    /// The schema in memory is older than the database's.
    private var isStale = false

    init(
        _ connection: any StoreConnection, _ schema: Schema, _ writer: any StoreWriter,
        _ settings: WriterThread.Settings, _ logger: Logger
    ) {
        self.connection = connection
        self.writer = writer
        self.settings = settings
        self.logger = logger
        transaction = StoreTransaction(connection: connection, schema: schema, settings: settings)
    }

    /// Releases the prepared statements.
    func close() { transaction.releaseStatements() }

    /// Returns and clears the times of the last group's jobs.
    func takeTimes() -> WriteTimes {
        defer { times = WriteTimes() }
        return times
    }

    /// Runs a group of jobs.
    /// - Parameter deliver: called for each transaction with its jobs.
    /// - Throws: `DatabaseRefused` when this process must stop writing.
    func carryOut(_ group: [Job], deliver: ([Job], Outcome) -> Void) throws(DatabaseRefused) {
        times.begin()
        let end = ContinuousClock.now + Piece.timeMax
        var pieces = [Piece(jobs: group)]
        while var piece = pieces.popLast() {
            times.resume()
            let result: Attempt
            do throws(DatabaseRefused) {
                result = try attempt(piece)
            } catch {
                for piece in [piece] + pieces.reversed() { deliver(piece.jobs, Self.failed(piece, Self.undone)) }
                throw error
            }
            switch result {
            case .ended(let outcome):
                pieces += outcome.unseen.reversed().map { Piece(jobs: [piece.jobs[$0]], seesLatestCommits: true) }
                deliver(piece.jobs, outcome)
            case .retry(.needsSavepoints):
                noteRepetition(of: piece, .needsSavepoints)
                // Jobs that already ran are not charged for this run.
                times.undo()
                piece.usesSavepoints = true
                pieces.append(piece)
            case .retry(.needsExclusive):
                piece.isExclusive = true
                pieces.append(piece)
            case .retry(let reason):
                noteRepetition(of: piece, reason)
                if reason == .invisibleRows, piece.jobs.count == 1 { piece.seesLatestCommits = true }
                if reason == .conflict { Thread.sleep(forTimeInterval: .random(in: 0...piece.pauseMax)) }
                guard let next = piece.next(isLate: .now > end, splits: reason == .invisibleRows) else {
                    deliver(piece.jobs, Self.failed(piece, Self.overtaken))
                    continue
                }
                pieces += next.reversed()
            }
        }
    }

    private func noteRepetition(of piece: Piece, _ reason: RetryReason) {
        settings.repetitions.note()
        CommitCounters.repeats.increment()
        logger.debug(
            "store.group.repeated", metadata: ["store.jobs": "\(piece.jobs.count)", "store.reason": "\(reason)"])
    }

    /// The error for jobs whose commit failed because of another job.
    private static let undone: any Error = ParseError(.serviceUnavailable, "Nothing was stored. Try again.")
    /// The error for a job that conflicts with other transactions on every try.
    private static let overtaken: any Error = ParseError(
        .serviceUnavailable, "Other requests keep changing the same data. Nothing was stored. Try again.")

    private static func failed(_ piece: Piece, _ error: any Error) -> Outcome {
        Outcome(failures: piece.jobs.map { _ in error })
    }

    /// Runs one transaction.
    private func attempt(_ piece: Piece) throws(DatabaseRefused) -> Attempt {
        var outcome = Outcome(failures: Array(repeating: nil, count: piece.jobs.count))
        let schemaBefore = transaction.schema
        var isCommitting = false
        transaction.beginGroup()
        do {
            try connection.beginGroup(waitsLong: piece.isAlone || piece.isExclusive, isExclusive: piece.isExclusive)
            defer { if connection.isInTransaction { try? connection.execute("ROLLBACK") } }
            if isStale { try reload() }
            let generation = transaction.schema.generation
            // An exclusive transaction blocks other writers, so it checks the schema before it runs its jobs.
            if piece.isExclusive { try requireCurrent(generation) }
            let hasChanged = try perform(piece, &outcome)
            // The schema's number arrived with the transaction's first response, so this check needs no round trip. If
            // the schema has changed, the results are discarded.
            if !piece.isExclusive { try requireCurrent(generation) }
            outcome.changes = transaction.takeChanges(since: schemaBefore)
            let start = ContinuousClock.now
            isCommitting = true
            try writer.commit(outcome.changes, hasChanged: hasChanged)
            if hasChanged {
                let time = (ContinuousClock.now - start) / .microseconds(1)
                CommitCounters.microseconds.wrappingAdd(Int64(time), ordering: .relaxed)
                CommitCounters.commits.increment()
                CommitCounters.writes.increment(by: piece.jobs.count)
            }
            isStale = false
            return .ended(outcome)
        } catch {
            _ = transaction.takeCommitActions()
            _ = transaction.takeWatchedChanges()
            transaction.schema = schemaBefore
            _ = transaction.takeChanges(since: schemaBefore)
            if let refusal = error as? DatabaseRefused { throw refusal }
            if let reason = reason(for: error) {
                isStale = isStale || reason == .schemaChanged
                return .retry(reason)
            }
            if transaction.hasUnguarded, writer.isInPlace, error is PartialChange { return .retry(.needsSavepoints) }
            let trouble = StorageTrouble(error)
            if transaction.hasOutright, writer.isInPlace, [nil, .damaged, .index].contains(trouble) {
                return .retry(.needsSavepoints)
            }
            // Without an answer to the commit, the changes may be stored.
            if isCommitting, !writer.isInPlace { settings.watch.lose() }
            // `StorageHealth` logs trouble once.
            if trouble == nil { logger.error("store.commit.failed", metadata: ["store.error": "\(error)"]) }
            let told = error is PartialChange ? Self.undone : error
            return .ended(Outcome(failures: outcome.failures.map { $0 ?? told }))
        }
    }

    /// - Throws: `RetryReason.schemaChanged` when the transaction sees another generation of the schema.
    private func requireCurrent(_ generation: Int64) throws {
        if let stored = try connection.generationAtBegin(), stored != generation { throw RetryReason.schemaChanged }
    }

    /// Why the transaction must be retried; nil for an error that a retry does not solve.
    private func reason(for error: any Error) -> RetryReason? {
        if let reason = error as? RetryReason { return reason }
        guard let error = error as? StoreError else { return nil }
        if error.wantsExclusive { return .needsExclusive }
        return error.isOvertaken ? .conflict : nil
    }

    /// Loads the classes as the transaction sees them.
    /// - Throws: `DatabaseRefused` when a newer release changed tables.
    private func reload() throws {
        try settings.migrator.requireKnown(in: connection, settings.path)
        transaction.schema = try Schema.load(connection)
    }

    /// - Returns: whether a row was changed.
    private func perform(_ piece: Piece, _ outcome: inout Outcome) throws -> Bool {
        var hasChanged = false
        for (index, job) in piece.jobs.enumerated() {
            transaction.begin()
            let (changes, refusals) = (connection.totalChanges, connection.refusals)
            do {
                try job.perform(in: transaction, isCarefully: piece.usesSavepoints)
                // The job may have ignored the failure and continued.
                if let overtaken = connection.overtaken { throw overtaken }
                if !piece.seesLatestCommits, connection.refusals != refusals { throw RetryReason.invisibleRows }
                hasChanged = hasChanged || connection.totalChanges != changes
                outcome.actions += transaction.takeCommitActions()
                outcome.watched += transaction.takeWatchedChanges()
            } catch {
                // The engine itself aborts a transaction when the disk is full or fails; then nothing of it is stored.
                guard connection.isInTransaction, !(error is RetryReason) else { throw error }
                if let overtaken = connection.overtaken { throw overtaken }
                outcome.failures[index] = (error as? PartialChange)?.cause ?? error
                if error is PartialChange { throw error }
                if !piece.seesLatestCommits, connection.refusals != refusals { outcome.unseen.append(index) }
            }
            times.ended(job)
        }
        return hasChanged
    }
}
