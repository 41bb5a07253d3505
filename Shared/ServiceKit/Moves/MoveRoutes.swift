import MessageBus
import Messages
import ObjectStore
import ParseProtocol

extension ServiceRoutes {
    /// The steps of a move from another server (`MoveVerb`), in every service with Parse objects.
    mutating func installMoves() {
        let run = MoveRun()
        host.whenStopping { _ in run.stop() }
        let moves = Moves(host: host, rules: rules, run: run)
        task(framed: ObjectCalls(of: host.plan.name).move) { message, request in
            try request.requireMaster()
            guard let verb = MoveVerb(rawValue: message.name) else { throw ParseError(.invalidJSON, "Unknown verb.") }
            return try await moves.answer(verb, request)
        }
    }
}

/// Answers the steps of a move. Only the writer stages and switches.
struct Moves: Sendable {
    let host: ServiceHost
    let rules: [String: any ClassRules]
    let run: MoveRun

    private static let running = ParseError(.operationForbidden, "The switch is running.")

    func answer(_ verb: MoveVerb, _ request: ServiceRequest) async throws -> BusReply {
        let parameters = try request.document()
        let className = parameters["className"]?.stringValue ?? ""
        switch verb {
        case .status: return try await status(request)
        case .list: return try await list(className, parameters, request)
        case .begin: return try begin(parameters, request)
        case .members: return try await members(className, parameters, request)
        case .secrets: return try await secrets(className, parameters, request)
        case .schema, .rows, .removals, .undo: break
        }
        guard !run.isRunning else { throw Self.running }
        switch verb {
        case .schema:
            let definition = try request.document(1)
            guard case .object = definition else { throw ParseError(.invalidJSON, "An object is needed.") }
            let text = definition.serializedText
            try await host.store.write(for: request.share) {
                try MoveStage.stage(schema: text, of: className, in: $0)
            }
            return try .result([:])
        case .rows:
            guard request.documents.count == 2 else { throw ParseError(.invalidJSON, "The request has no rows.") }
            let rows = try StagedRow.rows(in: request.documents[1], of: className)
            try await host.store.write(for: request.share) { try MoveStage.stage(rows, of: className, in: $0) }
            return try .result(["staged": .int(Int64(rows.count))])
        case .removals:
            let ids = (parameters["ids"]?.arrayValue ?? []).compactMap(\.stringValue)
            guard ids.count <= StagedRow.rowsMax else {
                throw ParseError(.objectTooLarge, "A request removes at most \(StagedRow.rowsMax) rows.")
            }
            let dropsClass = parameters["dropsClass"]?.boolValue ?? false
            let removed = try await host.store.write(for: request.share) {
                try MoveStage.remove(ids, of: className, dropsClass: dropsClass, in: $0)
            }
            return try .result(["removed": .int(removed)])
        case .undo:
            try await host.store.write(for: request.share) { transaction in
                guard try !MoveStage.classes(in: transaction).isEmpty else { return }
                try MoveStage.clear(in: transaction)
                try MoveStage.forgetOutcome(in: transaction)
                try host.audit.note(.init("undoMove"), by: request, in: transaction)
            }
            return try .result([:])
        case .status, .list, .begin, .members, .secrets: throw ParseError.internalError
        }
    }

    /// The parameters of a page.
    private func page(_ parameters: JSON) -> (after: String, limit: Int) {
        let limit = Int(min(max(0, parameters["limit"]?.intValue ?? 0), Int64(MoveStage.listedMax)))
        return (parameters["after"]?.stringValue ?? "", limit)
    }

    private func members(_ name: String, _ parameters: JSON, _ request: ServiceRequest) async throws -> BusReply {
        guard let relation = StagedRelation(name) else { throw ParseError(.invalidClassName, "It is no relation.") }
        let (after, limit) = page(parameters)
        let lines = try await host.store.read(for: request.share) {
            try MoveStage.members(of: relation, after: after, limit: limit, in: $0)
        }
        return try BusReply(FunctionReply(), documents: [lines])
    }

    private func secrets(_ className: String, _ parameters: JSON, _ request: ServiceRequest) async throws -> BusReply {
        let (after, limit) = page(parameters)
        let classRules = rules[className]
        let lines = try await host.store.write(for: request.share) { [host] transaction in
            let secrets = try classRules?.secrets(after: after, limit: limit, in: transaction) ?? []
            let note = AuditNote("exportSecrets", className, after: ["rows": .int(Int64(secrets.count))])
            try host.audit.note(note, by: request, in: transaction)
            return Array(secrets.map { "\($0.objectId)\t\($0.secrets.serializedText)\n" }.joined().utf8)
        }
        return try BusReply(FunctionReply(), documents: [lines])
    }

    private func list(_ className: String, _ parameters: JSON, _ request: ServiceRequest) async throws -> BusReply {
        let (after, limit) = page(parameters)
        let lines = try await host.store.read(for: request.share) {
            try MoveStage.list(of: className, after: after, limit: limit, in: $0)
        }
        return try BusReply(FunctionReply(), documents: [lines])
    }

    // MARK: The switch

    private func begin(_ parameters: JSON, _ request: ServiceRequest) throws -> BusReply {
        guard let rehearses = parameters["rehearses"]?.boolValue else {
            throw ParseError(.invalidJSON, "rehearses must be true or false.")
        }
        let elsewhere = ParseError(.serviceUnavailable, "This replica does not write. Try again.")
        guard host.store.role == .writer else { throw elsewhere }
        guard run.begin() else { throw Self.running }
        let move = MoveSwitch(host: host, rules: rules, run: run, rehearses: rehearses, request: request)
        let hasBegun = host.background.begin(isAwaited: false) { [run] in
            await move.perform()
            run.end()
        }
        guard hasBegun else {
            run.end()
            throw elsewhere
        }
        return try .result([:])
    }

    private func status(_ request: ServiceRequest) async throws -> BusReply {
        // First, because the database shows the end of a switch before this process does.
        let isRunning = run.isRunning
        let (classes, outcome) = try await host.store.read(for: request.share) { reader in
            (try MoveStage.classes(in: reader), try MoveStage.outcome(in: reader))
        }
        var shown = outcome ?? MoveOutcome(phase: classes.isEmpty ? "empty" : "staged")
        if isRunning { shown = MoveOutcome(phase: "switching", applied: Int64(run.applied)) }
        let staged = classes.reduce(into: Int64(0)) { $0 += $1.rows }
        let listed = classes.map { staged -> JSON in
            ["className": .string(staged.name), "rows": .int(staged.rows), "bytes": .int(staged.bytes)]
        }
        let answer: JSON = [
            "service": .string(host.plan.name), "phase": .string(shown.phase), "applied": .int(shown.applied),
            "rows": .int(shown.phase == "switched" ? shown.applied : staged), "failed": .int(shown.failed),
            "failures": .array(shown.failures), "classes": .array(listed),
        ]
        var reply = try BusReply.result(answer)
        // The gateways have read sessions and roles from before the switch.
        if run.hasSwitched, rules["_Session"] != nil { reply.forget = Forget.with { $0.everything = true } }
        return reply
    }
}
