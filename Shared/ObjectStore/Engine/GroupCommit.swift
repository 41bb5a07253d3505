import Foundation
import Logging
import ParseProtocol

/// Carries out the jobs of a group: one transaction and a savepoint for each job. The writer's thread alone uses it.
///
/// A transaction that was overtaken by another process's, or that the server ended because two waited for each other,
/// is taken back and done again, jobs with it (`GroupPiece` says in which parts and how often). Where this process
/// alone writes, only other programs in the same database bring that about.
final class GroupCommit {
    typealias Job = WriterThread.Job
    private typealias Piece = GroupPiece<Job>

    /// The outcome of a transaction.
    struct Outcome {
        var failures: [(any Error)?]
        var actions: [@Sendable () -> Void] = []
        var watched: [StoredChange] = []
        var changes = ChangeSet()
        /// Jobs that are to be done once more, by their places: they may have failed because of what they did not see.
        var unseen: [Int] = []
    }

    private enum Attempt {
        case ended(Outcome)
        case overtaken(Overtaken)
    }

    /// Why a transaction is done again. Nothing of it was kept.
    private enum Overtaken: Error, Equatable {
        /// Another transaction changed what it had read or wanted to change.
        case byChange
        /// Another process changed a class.
        case bySchema
        /// A job went on after a failure that may have come of what it did not see.
        case byUnseen
        /// A job without a savepoint failed, or a statement that nobody waited for.
        case byOutright
    }

    private let connection: any StoreConnection
    private let transaction: StoreTransaction
    private let writer: any StoreWriter
    private let settings: WriterThread.Settings
    private let logger: Logger
    private var times = WriteTimes()
    /// The schema that is known is not the database's.
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

    /// Lets go of prepared statements.
    func close() { transaction.releaseStatements() }

    /// Takes out the times that the last group's jobs took.
    func takeTimes() -> WriteTimes {
        defer { times = WriteTimes() }
        return times
    }

    /// - Parameter deliver: called for each transaction, with its jobs.
    /// - Throws: `DatabaseRefused` when this process must not write any more.
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
                pieces += outcome.unseen.reversed().map { Piece(jobs: [piece.jobs[$0]], seesAll: true) }
                deliver(piece.jobs, outcome)
            case .overtaken(.byOutright):
                piece.isCareful = true
                pieces.append(piece)
            case .overtaken(let reason):
                settings.repetitions.note()
                logger.debug(
                    "store.group.repeated",
                    metadata: ["store.jobs": "\(piece.jobs.count)", "store.reason": "\(reason)"])
                if reason == .byUnseen, piece.jobs.count == 1 { piece.seesAll = true }
                if reason == .byChange { Thread.sleep(forTimeInterval: .random(in: 0...piece.pauseMax)) }
                guard let next = piece.next(isLate: .now > end, splits: reason == .byUnseen) else {
                    deliver(piece.jobs, Self.failed(piece, Self.overtaken))
                    continue
                }
                pieces += next.reversed()
            }
        }
    }

    /// The answer to those whose commit ended with another's failure.
    private static let undone: any Error = ParseError(.serviceUnavailable, "Nothing of this was stored. Try again.")
    /// The answer to a job that others overtook all the time.
    private static let overtaken: any Error = ParseError(
        .serviceUnavailable, "Others change the same all the time. Nothing of this was stored. Try again.")

    private static func failed(_ piece: Piece, _ error: any Error) -> Outcome {
        Outcome(failures: piece.jobs.map { _ in error })
    }

    /// One transaction.
    private func attempt(_ piece: Piece) throws(DatabaseRefused) -> Attempt {
        var outcome = Outcome(failures: Array(repeating: nil, count: piece.jobs.count))
        let schemaBefore = transaction.schema
        transaction.beginGroup()
        do {
            try connection.beginGroup(waitsLong: piece.isAlone)
            defer { if connection.isInTransaction { try? connection.execute("ROLLBACK") } }
            if isStale { try reload() }
            let generation = transaction.schema.generation
            let hasChanged = try perform(piece, &outcome)
            // It came with the first answer. What was done by an old schema is nothing that anybody hears of.
            if let stored = try connection.generationAtBegin(), stored != generation { throw Overtaken.bySchema }
            outcome.changes = transaction.takeChanges(since: schemaBefore)
            try writer.commit(outcome.changes, hasChanged: hasChanged)
            isStale = false
            return .ended(outcome)
        } catch {
            _ = transaction.takeCommitActions()
            _ = transaction.takeWatchedChanges()
            transaction.schema = schemaBefore
            _ = transaction.takeChanges(since: schemaBefore)
            if let refusal = error as? DatabaseRefused { throw refusal }
            if let reason = reason(for: error) {
                isStale = isStale || reason == .bySchema
                return .overtaken(reason)
            }
            if transaction.hasOutright, writer.isInPlace, StorageTrouble(error) == nil {
                return .overtaken(.byOutright)
            }
            logger.error("store.commit.failed", metadata: ["store.error": "\(error)"])
            let told = error is HalfDone ? Self.undone : error
            return .ended(Outcome(failures: outcome.failures.map { $0 ?? told }))
        }
    }

    /// Why the transaction is done again; nil for an error that is one.
    private func reason(for error: any Error) -> Overtaken? {
        if let reason = error as? Overtaken { return reason }
        guard let error = error as? StoreError, error.isOvertaken else { return nil }
        return .byChange
    }

    /// Takes over the classes as they are in the transaction.
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
                try job.perform(in: transaction, isCarefully: piece.isCareful)
                // Somebody may have gone on without what failed.
                if let overtaken = connection.overtaken { throw overtaken }
                if !piece.seesAll, connection.refusals != refusals { throw Overtaken.byUnseen }
                hasChanged = hasChanged || connection.totalChanges != changes
                outcome.actions += transaction.takeCommitActions()
                outcome.watched += transaction.takeWatchedChanges()
            } catch {
                // The engine itself ends a transaction when the disk is full or fails; then nothing of it is kept.
                guard connection.isInTransaction, !(error is Overtaken) else { throw error }
                if let overtaken = connection.overtaken { throw overtaken }
                outcome.failures[index] = (error as? HalfDone)?.cause ?? error
                if error is HalfDone { throw error }
                if !piece.seesAll, connection.refusals != refusals { outcome.unseen.append(index) }
            }
            times.ended(job)
        }
        return hasChanged
    }
}
