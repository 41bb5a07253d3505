import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Background work that an operator starts. After a crash it restarts from the beginning, so every job must be safe to
/// repeat.
package struct Job: Sendable {
    /// Calls `tell` with progress messages and returns the final message.
    package typealias Work = @Sendable (_ tell: @Sendable (String) async throws -> Void) async throws -> String

    let name: String
    let run: Work

    package init(name: String, run: @escaping Work) {
        self.name = name
        self.run = run
    }
}

extension ClassDefinition {
    /// Job runs and their results. Written by the service; read with the master key and by developers.
    static let jobStatus = ClassDefinition(
        "_JobStatus",
        fields: [
            "jobName": .string, "source": .string, "status": .string, "message": .string, "params": .object,
            "finishedAt": .date,
        ],
        permissions: .seen(by: jobRoles))

    /// Schedules that start jobs automatically.
    static let jobSchedule = ClassDefinition(
        "_JobSchedule",
        fields: [
            "jobName": .string, "description": .string, "params": .string, "startAfter": .string,
            "daysOfWeek": .array, "timeOfDay": .string, "lastRun": .number, "repeatMinutes": .number, "cron": .string,
        ],
        permissions: .kept(by: jobRoles))

    fileprivate static let jobRoles = [adminsRole, OperatorArea.developers.role]
}

/// The rules of `_JobStatus`: only the service writes statuses, regardless of the caller.
struct JobStatusRules: ClassRules {
    let prepares = false

    /// The roles that start jobs can also read the results.
    static let acl = JSON.object(
        Dictionary(uniqueKeysWithValues: ClassDefinition.jobRoles.map { ("role:\($0)", ["read": true]) }))

    func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        // The history of another server.
        if change.isImported {
            change.object["ACL"] = Self.acl
            return
        }
        guard change.verb == .delete else {
            throw ParseError(.operationForbidden, "The state of jobs cannot be written.")
        }
        guard let id = change.objectId,
            try transaction.rows("SELECT 1 FROM jobRuns WHERE status = ?", [.text(id)]).isEmpty
        else { throw ParseError(.operationForbidden, "The job has not ended.") }
    }
}

extension JobSchedule {
    /// A stored schedule, with its object.
    /// - Returns: nil when it does not exist, or when this release cannot read it.
    /// - Throws: the store's errors.
    package static func stored(
        _ id: String, in transaction: StoreTransaction
    ) throws -> (schedule: JobSchedule, object: JSON)? {
        do {
            let text = try transaction.get("_JobSchedule", id, caller: .master)
            guard let object = try? JSON(parsing: text), let name = object["jobName"]?.stringValue,
                let schedule = try? JobSchedule(object, jobs: [name])
            else { return nil }
            return (schedule, object)
        } catch let error as ParseError where error.code == .objectNotFound {
            return nil
        }
    }
}

/// The rules of `_JobSchedule`: validates schedules and records when each is due.
struct JobScheduleRules: ClassRules {
    let prepares = false
    /// Satchel's own jobs. Jobs of cloud code are also accepted.
    let jobs: Set<String>

    func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        guard change.verb != .delete else { return }
        // Only the service writes the time of the last run.
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
