import Dispatch
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ProcessKit
import Synchronization

/// The switch of one service, or its rehearsal: one job of the writer applies all staged rows as `/import` does, so
/// that clients see all of them or none. Any refused row rolls the job back.
///
/// Rows keep their times. Live queries do not report them. An object that changed here after its row stays.
struct MoveSwitch: Sendable {
    let host: ServiceHost
    let rules: [String: any ClassRules]
    let run: MoveRun
    let rehearses: Bool
    let request: ServiceRequest

    /// Rows in memory, and of one savepoint.
    private static let rowsAtOnce = 200

    /// The job is rolled back: rows were refused, or it is a rehearsal.
    private struct Undone: Error {
        let outcome: MoveOutcome
    }

    /// The job is rolled back because the process ends.
    private struct Stopped: Error {}

    func perform() async {
        do {
            guard try await forgetOutcome() else { return }
            // A rehearsal stores no files.
            let prepared: Prepared = try await rehearses ? [:] : prepareFiles()
            try await host.store.write(for: nil) { try apply(prepared, in: $0) }
            run.noteSwitched()
            host.logger.notice("The switch is done.", metadata: ["move.rows": "\(run.applied)"])
        } catch let undone as Undone {
            await note(undone.outcome)
        } catch is Stopped {
            host.logger.notice("The switch was rolled back, because the process ends.")
        } catch {
            host.logger.error("The switch failed.", metadata: ["error": "\(error)"])
            var outcome = MoveOutcome(phase: "failed")
            let failure = BusFailure(error, of: ObjectCalls(of: host.plan.name).move.kind)
            outcome.refuse("", "", failure.map { ParseError($0) } ?? ParseError.internalError)
            await note(outcome)
        }
    }

    /// Removes the end of the last switch, which the state would show again if the process were killed.
    /// - Returns: false if nothing is staged, as in a repeated call after the switch.
    private func forgetOutcome() async throws -> Bool {
        try await host.store.write(for: nil) { transaction in
            guard try !MoveStage.classes(in: transaction).isEmpty else { return false }
            try MoveStage.forgetOutcome(in: transaction)
            return true
        }
    }

    private func note(_ outcome: MoveOutcome) async {
        do {
            try await host.store.write(for: nil) { try MoveStage.note(outcome, in: $0) }
        } catch {
            host.logger.error("The end of the switch could not be stored.", metadata: ["error": "\(error)"])
        }
    }

    // MARK: Files

    /// Changes whose rules stored files or refused, by class and id.
    private typealias Prepared = [String: [String: Result<ProposedChange, ParseError>]]

    /// Prepares the rows of classes whose rules store files, because a job of the writer cannot wait for that.
    private func prepareFiles() async throws -> Prepared {
        var prepared: Prepared = [:]
        for (className, classRules) in rules where classRules.preparesFiles {
            var last: String? = ""
            while let after = last {
                let piece = try await host.store.read(for: nil) {
                    try MoveStage.rows(of: className, after: after, limit: Self.rowsAtOnce, in: $0)
                }
                for row in piece {
                    guard !run.isStopping else { throw Stopped() }
                    let change = await ServiceRoutes.prepare(Self.change(row, of: className), rules)
                    if (try? change.get())?.notes.isEmpty != true {
                        prepared[className, default: [:]][row.objectId] = change
                    }
                }
                last = piece.last?.objectId
            }
        }
        return prepared
    }

    // MARK: The job

    private func apply(_ prepared: Prepared, in transaction: StoreTransaction) throws {
        run.restart()
        var outcome = MoveOutcome()
        let classes = try MoveStage.classes(in: transaction)
            .sorted { (Self.rank($0.name), $0.name) < (Self.rank($1.name), $1.name) }
        try transaction.quietly {
            for staged in classes {
                if let relation = StagedRelation(staged.name) {
                    try forEachPiece(of: staged.name, in: transaction) {
                        try relate($0, of: staged.name, relation, &outcome, in: transaction)
                    }
                } else {
                    let fields = try define(staged, &outcome, in: transaction)
                    try forEachPiece(of: staged.name, in: transaction) {
                        try save($0, of: staged.name, prepared[staged.name] ?? [:], &outcome, in: transaction)
                    }
                    try complete(staged, fields, &outcome, in: transaction)
                }
            }
        }
        outcome.phase = outcome.failed > 0 ? "failed" : rehearses ? "staged" : "switched"
        guard outcome.phase == "switched" else { throw Undone(outcome: outcome) }
        try MoveStage.clear(in: transaction)
        try MoveStage.note(outcome, in: transaction)
        try host.audit.note(.init("move", after: ["rows": .int(outcome.applied)]), by: request, in: transaction)
    }

    /// Sessions need their users, reviews and favourites their products, relations the objects that have them.
    private static func rank(_ className: String) -> Int {
        let first = ["_User", "_Role", "_Session", "Product"]
        return first.firstIndex(of: className) ?? (className.hasPrefix("_Join:") ? first.count + 1 : first.count)
    }

    private func forEachPiece(
        of className: String, in transaction: StoreTransaction, _ body: ([StagedRow]) throws -> Void
    ) throws {
        var last = ""
        while true {
            let piece = try MoveStage.rows(of: className, after: last, limit: Self.rowsAtOnce, in: transaction)
            guard let end = piece.last else { return }
            guard !run.isStopping else { throw Stopped() }
            try body(piece)
            run.add(piece.count)
            last = end.objectId
        }
    }

    // MARK: Rows

    /// Has the maintenance key's right to set the times of objects that exist.
    private static let principal = Principal.with {
        $0.master = true
        $0.maintenance = true
    }

    private static func change(_ row: StagedRow, of className: String) -> Result<ProposedChange, ParseError> {
        Result { () throws(ParseError) in
            var object = try JSON(clientText: row.text)
            object["objectId"] = .string(row.objectId)
            if object["updatedAt"] == nil, object["_updated_at"] == nil, row.updatedAt > 0 {
                object["updatedAt"] = .string(Timestamp(milliseconds: row.updatedAt).iso)
            }
            return ProposedChange(
                verb: .create, className: className, objectId: row.objectId, object: object, principal: principal,
                isImported: true, bytes: row.text.count, for: nil)
        }
    }

    private func save(
        _ rows: [StagedRow], of className: String, _ prepared: [String: Result<ProposedChange, ParseError>],
        _ outcome: inout MoveOutcome, in transaction: StoreTransaction
    ) throws {
        let present = try transaction.updateTimes(className, of: rows.map(\.objectId))
        let wanted = rows.filter { row in present[row.objectId].map { $0 <= row.updatedAt } ?? true }
        outcome.applied += Int64(rows.count)
        guard !wanted.isEmpty else { return }
        var changes = wanted.map { prepared[$0.objectId] ?? Self.change($0, of: className) }
        if let classRules = rules[className], classRules.prepares, !classRules.preparesFiles {
            changes = try prepare(changes)
        }
        let replaced = wanted.map(\.objectId).filter { present[$0] != nil }
        changes = try Self.replacing(replaced, of: className, by: changes, in: transaction)
        let reply = try apply(changes, of: className, in: transaction)
        for (row, result) in zip(wanted, try WriteReply(serializedBytes: reply.body).outcomes) where result.hasFailure {
            outcome.applied -= 1
            outcome.refuse(className, row.objectId, ParseError(BusFailure(result.failure)))
        }
    }

    /// Applies changes with one savepoint for all, which copies a page once and not for each change. When one is
    /// refused, all are applied again, each with its own.
    private func apply(
        _ changes: [Result<ProposedChange, ParseError>], of className: String, in transaction: StoreTransaction
    ) throws -> BusReply {
        // SQLite needs no savepoint for changes without rules.
        if rules[className] != nil || transaction.dialect != .sqlite {
            do {
                return try transaction.nested {
                    try ServiceRoutes.apply(changes, atomic: true, rules: rules, in: transaction)
                }
            } catch is ParseError {}
        }
        return try ServiceRoutes.apply(changes, atomic: false, rules: rules, in: transaction)
    }

    /// Adds deletions of the fields that objects have and their rows lack. The classes of accounts have rules for that.
    private static func replacing(
        _ ids: [String], of className: String, by changes: [Result<ProposedChange, ParseError>],
        in transaction: StoreTransaction
    ) throws -> [Result<ProposedChange, ParseError>] {
        guard !ids.isEmpty, !className.hasPrefix("_") else { return changes }
        var stored: [String: [String: JSON]] = [:]
        for found in try transaction.fetch(className, ids: ids, keys: [], caller: .master) {
            stored[found.objectId] = try JSON(parsing: found.document).objectValue
        }
        return changes.map { result in
            result.map { change in
                guard let fields = change.objectId.flatMap({ stored[$0] }) else { return change }
                var change = change
                for (name, value) in fields
                where change.object[name] == nil && !standardFields.contains(name) && value.wireType != "Relation" {
                    change.object[name] = ["__op": "Delete"]
                }
                return change
            }
        }
    }

    /// Runs `ClassRules.prepare`, and blocks the writer's thread meanwhile: for imports these rules wait for nothing.
    private func prepare(
        _ changes: [Result<ProposedChange, ParseError>]
    ) throws -> [Result<ProposedChange, ParseError>] {
        let (prepared, done) = (PreparedChanges(), DispatchSemaphore(value: 0))
        Task.detached { [rules] in
            for change in changes { prepared.add(await ServiceRoutes.prepare(change, rules)) }
            done.signal()
        }
        done.wait()
        return prepared.all
    }

    private final class PreparedChanges: Sendable {
        private let changes = Mutex<[Result<ProposedChange, ParseError>]>([])
        var all: [Result<ProposedChange, ParseError>] { changes.withLock { $0 } }
        func add(_ change: Result<ProposedChange, ParseError>) { changes.withLock { $0.append(change) } }
    }

    /// Adds members to relations. The ids are in order, so that the rows of an owner follow each other.
    private func relate(
        _ rows: [StagedRow], of name: String, _ relation: StagedRelation, _ outcome: inout MoveOutcome,
        in transaction: StoreTransaction
    ) throws {
        var rest = rows.compactMap { StagedRelation.members($0.objectId) }[...]
        while let owner = rest.first?.owner {
            let members = rest.prefix { $0.owner == owner }.map { $0.member }
            rest = rest.dropFirst(members.count)
            do {
                try transaction.relate(relation.className, owner, relation.field, to: members)
                outcome.applied += Int64(members.count)
            } catch let error as ParseError {
                for member in members { outcome.refuse(name, "\(owner):\(member)", error) }
            }
        }
    }

    // MARK: Classes

    private static let standardFields: Set<String> = ["objectId", "createdAt", "updatedAt", "ACL"]
    /// Fields that Parse Server's schemas of its own classes have, and that no object contains.
    private static let secretFields: Set<String> = ["password", "sessionToken"]

    /// Adds the fields that the class lacks, without their options, which older rows may not meet, and sets the
    /// permissions unless the service defines the class.
    /// - Returns: the added fields.
    private func define(
        _ staged: MoveStage.Class, _ outcome: inout MoveOutcome, in transaction: StoreTransaction
    ) throws -> [String: JSON] {
        guard let definition = staged.definition else { return [:] }
        var stored: JSON = [:]
        if transaction.hasClass(staged.name) { stored = try JSON(parsing: transaction.schema(of: staged.name)) }
        let added = (definition["fields"]?.objectValue ?? [:]).filter { name, _ in
            stored["fields"]?[name] == nil && !name.hasPrefix("_") && !Self.standardFields.contains(name)
                && !(staged.name.hasPrefix("_") && Self.secretFields.contains(name))
        }
        let plain = added.mapValues { field -> JSON in
            .object((field.objectValue ?? [:]).filter { !Self.options.contains($0.key) })
        }
        var wish: JSON = ["fields": .object(plain)]
        if !host.plan.classes.contains(where: { $0.name == staged.name }),
            let permissions = definition["classLevelPermissions"], !permissions.isNull
        {
            wish["classLevelPermissions"] = permissions
        }
        do {
            try change(staged.name, wish, in: transaction)
        } catch let error as ParseError {
            outcome.refuse(staged.name, "", error)
        }
        return added
    }

    private static let options: Set<String> = ["required", "defaultValue"]

    /// Adds the options of new fields, and indexes. An index in a form that Satchel lacks is left out.
    private func complete(
        _ staged: MoveStage.Class, _ fields: [String: JSON], _ outcome: inout MoveOutcome,
        in transaction: StoreTransaction
    ) throws {
        var wishes: [JSON] = []
        let limited = fields.filter { field in Self.options.contains { field.value[$0] != nil } }
        if !limited.isEmpty { wishes.append(["fields": .object(limited)]) }
        // The service has its own indexes of the protocol's classes.
        if !staged.name.hasPrefix("_") {
            for (name, index) in staged.definition?["indexes"]?.objectValue ?? [:] {
                wishes.append(["indexes": .object([name: index])])
            }
        }
        for wish in wishes {
            do {
                try change(staged.name, wish, in: transaction)
            } catch let error as ParseError {
                let isUnknownForm = error.code == .invalidQuery && wish["indexes"] != nil
                if !isUnknownForm { outcome.refuse(staged.name, "", error) }
            }
        }
    }

    private func change(_ className: String, _ wish: JSON, in transaction: StoreTransaction) throws {
        try transaction.nested {
            _ =
                try transaction.hasClass(className)
                ? transaction.changeClass(className, wish, keeping: []) : transaction.createClass(className, wish)
        }
    }
}
