import ObjectStore
import ParseProtocol
import ServiceKit

/// The cloud functions for operators. None shows what a mail says.
struct MailFunctions: Sendable {
    let store: ClassStore
    let sender: MailSender
    let audit: AuditTrail

    private static let states = ["queued", "sent", "failed", "bounced", "suppressed", "held"]

    func install(in routes: inout ServiceRoutes) {
        routes.function("mails") { parameters, request in
            try request.requireArea(.support)
            let limit = try parameters.listLimit()
            let state = parameters["state"] ?? .null
            guard state.isNull || Self.states.contains(state.stringValue ?? "") else {
                throw ParseError(.validationError, "state must be one of \(Self.states.joined(separator: ", ")).")
            }
            return try .result(.array(await store.read { try Self.newest(state.stringValue, limit: limit, $0) }))
        }
        routes.function("suppressedAddresses") { parameters, request in
            try request.requireArea(.support)
            let limit = try parameters.listLimit()
            return try .result(.array(await store.read { try SuppressionList.newest(limit: limit, $0) }))
        }
        routes.function("unsuppressAddress") { parameters, request in
            try request.requireArea(.support)
            guard let address = parameters["address"]?.stringValue, !address.isEmpty else {
                throw ParseError(.validationError, "address is needed.")
            }
            return try await store.write { transaction in
                guard try SuppressionList.remove(address, in: transaction) else { throw ParseError.objectNotFound }
                try audit.note(.init("unsuppressAddress"), by: request, in: transaction)
                return try .result([:])
            }
        }
        routes.function("retryMail") { parameters, request in
            try request.requireArea(.support)
            guard let id = parameters["id"]?.intValue else {
                throw ParseError(.validationError, "id is needed: a mail's number as mails lists it.")
            }
            return try await store.write { transaction in
                try Self.retry(id, in: transaction)
                try audit.note(.init("retryMail", "", String(id)), by: request, in: transaction)
                transaction.afterCommit { sender.wake() }
                return try .result([:])
            }
        }
    }

    /// Queues a mail again that was given up or held, as if it had been asked for now.
    private static func retry(_ id: Int64, in transaction: StoreTransaction) throws {
        guard
            let row = try transaction.rows("SELECT state, length(model) AS size FROM mails WHERE id = ?", [.int(id)])
                .first
        else { throw ParseError.objectNotFound }
        let state = try row.text("state")
        guard state != "sent" else { throw ParseError(.validationError, "This mail was sent.") }
        guard try row.int("size") > 0 else {
            throw ParseError(.validationError, "What this mail said is not kept any more.")
        }
        let now = SQLValue.int(transaction.now.milliseconds)
        try transaction.execute(
            """
            UPDATE mails SET queuedAt = CASE state WHEN 'queued' THEN queuedAt ELSE ? END, state = 'queued', \
            dueAt = ? WHERE id = ?
            """,
            [now, now, .int(id)])
    }

    private static func newest(_ state: String?, limit: Int64, _ reader: ObjectReader) throws -> [JSON] {
        let condition = state == nil ? "" : "WHERE state = ?"
        let rows = try reader.rows(
            """
            SELECT id, template, toAddress, state, attempts, queuedAt, dueAt, sentAt, problem, messageId \
            FROM mails \(condition)
            ORDER BY id DESC LIMIT ?
            """,
            (state.map { [.text($0)] } ?? []) + [.int(limit)])
        return try rows.map { row in
            var mail: JSON = try [
                "id": .int(row.int("id")), "template": .string(row.text("template")),
                "to": .string(masked(row.text("toAddress"))), "state": .string(row.text("state")),
                "attempts": .int(row.int("attempts")), "messageId": .string(row.text("messageId")),
                "queuedAt": Timestamp(milliseconds: row.int("queuedAt")).wire,
            ]
            if let problem = try row["problem"].textValue { mail["problem"] = .string(problem) }
            if let sentAt = try row["sentAt"].intValue { mail["sentAt"] = Timestamp(milliseconds: sentAt).wire }
            if try row.text("state") == "queued" {
                mail["nextAttemptAt"] = try Timestamp(milliseconds: row.int("dueAt")).wire
            }
            return mail
        }
    }

    /// `a…@shop.example`: enough to recognise, too little to collect.
    private static func masked(_ address: String) -> String {
        guard let at = address.lastIndex(of: "@") else { return "…" }
        return "\(address.prefix(1))…\(address[at...])"
    }
}
