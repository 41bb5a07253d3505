import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Work that an operator starts and that goes on in the background. A crash makes it run again from its start, so that
/// each must bear it.
struct Job: Sendable {
    let name: String
    /// Does the work and returns what to say about it. It tells from time to time how far it is.
    let run: @Sendable (_ tell: @Sendable (String) async throws -> Void) async throws -> String
}

extension ClassDefinition {
    /// The runs of jobs, and what became of each. Written by the service, read with the master key and by developers.
    static let jobStatus = ClassDefinition(
        "_JobStatus",
        fields: [
            "jobName": .string, "source": .string, "status": .string, "message": .string, "params": .object,
            "finishedAt": .date,
        ],
        permissions: .seen(by: jobRoles))

    /// The schedules by which jobs run by themselves.
    static let jobSchedule = ClassDefinition(
        "_JobSchedule",
        fields: [
            "jobName": .string, "description": .string, "params": .string, "startAfter": .string,
            "daysOfWeek": .array, "timeOfDay": .string, "lastRun": .number, "repeatMinutes": .number, "cron": .string,
        ],
        permissions: .kept(by: jobRoles))

    fileprivate static let jobRoles = [adminsRole, OperatorArea.developers.role]
}

/// Statuses are the service's to write, whoever asks.
struct JobStatusRules: ClassRules {
    let prepares = false

    /// Whoever starts jobs sees what became of them.
    static let acl = JSON.object(
        Dictionary(uniqueKeysWithValues: ClassDefinition.jobRoles.map { ("role:\($0)", ["read": true]) }))

    func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        guard change.verb == .delete else {
            throw ParseError(.operationForbidden, "The state of jobs cannot be written.")
        }
        guard let id = change.objectId,
            try transaction.rows("SELECT 1 FROM jobRuns WHERE status = ?", [.text(id)]).isEmpty
        else { throw ParseError(.operationForbidden, "The job has not ended.") }
    }
}

/// Keeps schedules meaningful, and knows when each is due.
struct JobScheduleRules: ClassRules {
    let prepares = false
    /// Satchel's own; those of cloud code are known beside them.
    let jobs: Set<String>

    func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        guard change.verb != .delete else { return }
        // When a job ran is the service's to say.
        change.object["lastRun"] = nil
        if change.verb == .create, change.object["startAfter"] == nil {
            change.object["startAfter"] = .string(transaction.now.iso)
        }
    }

    func after(_ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction) throws {
        guard let object = outcome.after else {
            _ = try transaction.execute("DELETE FROM jobTimes WHERE schedule = ?", [.text(outcome.objectId)])
            return
        }
        let schedule = try JobSchedule(object, jobs: jobs.union(CodeHooks.jobs(in: transaction)))
        let lastRun = object["lastRun"]?.intValue.map(Timestamp.init(milliseconds:))
        try Self.plan(schedule, outcome.objectId, after: lastRun, in: transaction)
    }

    static func plan(
        _ schedule: JobSchedule, _ id: String, after lastRun: Timestamp?, in transaction: StoreTransaction
    ) throws {
        guard let next = schedule.next(after: lastRun) else {
            _ = try transaction.execute("DELETE FROM jobTimes WHERE schedule = ?", [.text(id)])
            return
        }
        _ = try transaction.execute(
            "INSERT INTO jobTimes(schedule, dueAt) VALUES (?1, ?2) ON CONFLICT(schedule) DO UPDATE SET dueAt = ?2",
            [.text(id), .int(next.milliseconds)])
    }
}
