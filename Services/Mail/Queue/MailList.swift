import ObjectStore
import ParseProtocol
import ServiceKit

/// `mails {limit?, state?, orderNo?, count?}`: mails, newest first, without their content.
package struct MailList: Sendable {
    private var conditions: [String] = []
    private var arguments: [SQLValue] = []
    private let limit: Int64
    private let wantsCount: Bool
    /// The index that the query must use. Otherwise SQLite may choose the index by state and scan every sent mail.
    private var index: String?

    private static let states = ["queued", "sent", "failed", "bounced", "suppressed", "held"]

    /// - Throws: `.validationError` (142) for invalid parameters.
    package init(_ parameters: JSON) throws {
        limit = try parameters.listLimit()
        wantsCount = try parameters.wantsCount()
        if let state = parameters["state"], !state.isNull {
            guard let text = state.stringValue, Self.states.contains(text) else {
                throw ParseError(.validationError, "state must be one of \(Self.states.joined(separator: ", ")).")
            }
            add("state = ?", .text(text))
        }
        if let orderNo = parameters["orderNo"], !orderNo.isNull {
            guard let number = orderNo.intValue, number >= 1 else {
                throw ParseError(.validationError, "orderNo must be a whole number from 1.")
            }
            add("orderNo = ?", .int(number))
            index = "mailsOfOrder"
        }
    }

    private mutating func add(_ condition: String, _ value: SQLValue) {
        conditions.append(condition)
        arguments.append(value)
    }

    private var filter: String { conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ") }

    private func sql(_ dialect: Dialect) -> String {
        return """
            SELECT id, template, toAddress, state, attempts, queuedAt, dueAt, sentAt, problem, messageId, orderNo \
            FROM mails\(index.map { dialect.using(index: $0) } ?? "") \(filter)
            ORDER BY id DESC LIMIT ?
            """
    }

    /// SQLite's query plan for the list, for tests: one step per line.
    package func plan(in reader: ObjectReader) throws -> String {
        let rows = try reader.rows("EXPLAIN QUERY PLAN " + sql(reader.dialect), arguments + [.int(limit)])
        return try rows.map { try $0.text("detail") }.joined(separator: "\n")
    }

    func answer(in reader: ObjectReader, showsAddresses: Bool) throws -> JSON {
        guard wantsCount else { return .array(try read(in: reader, showsAddresses: showsAddresses)) }
        let row = try reader.rows("SELECT count(*) AS mails FROM mails \(filter)", arguments).first
        return .listing(try read(in: reader, showsAddresses: showsAddresses), count: try row?.int("mails") ?? 0)
    }

    /// - Parameter showsAddresses: for admins; other operators see masked addresses.
    package func read(in reader: ObjectReader, showsAddresses: Bool = false) throws -> [JSON] {
        try reader.rows(sql(reader.dialect), arguments + [.int(limit)]).map { row in
            let address = try row.text("toAddress")
            var mail: JSON = try [
                "id": .int(row.int("id")), "template": .string(row.text("template")),
                "to": .string(showsAddresses ? address : Self.masked(address)), "state": .string(row.text("state")),
                "attempts": .int(row.int("attempts")), "messageId": .string(row.text("messageId")),
                "queuedAt": Timestamp(milliseconds: row.int("queuedAt")).wire,
            ]
            if let problem = try row["problem"].textValue { mail["problem"] = .string(problem) }
            if let orderNo = try row["orderNo"].intValue { mail["orderNo"] = .int(orderNo) }
            if let sentAt = try row["sentAt"].intValue { mail["sentAt"] = Timestamp(milliseconds: sentAt).wire }
            // A mail without attempts is already due, or being sent.
            if try row.text("state") == "queued", try row.int("attempts") > 0 {
                mail["nextAttemptAt"] = try Timestamp(milliseconds: row.int("dueAt")).wire
            }
            return mail
        }
    }

    /// `a…@shop.example`: enough to recognise an address, too little to collect it.
    static func masked(_ address: String) -> String {
        guard let at = address.lastIndex(of: "@") else { return "…" }
        return "\(address.prefix(1))…\(address[at...])"
    }

    /// A text of a mail server with its addresses masked.
    static func maskedText(_ text: String) -> String {
        var (masked, word) = ("", "")
        func end() {
            masked += word.contains("@") ? Self.masked(word) : word
            word = ""
        }
        for character in text {
            if character.isWhitespace || "<>()[],;:\"'".contains(character) {
                end()
                masked.append(character)
            } else {
                word.append(character)
            }
        }
        end()
        return masked
    }
}
