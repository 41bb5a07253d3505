import ObjectStore
import ParseProtocol
import ServiceKit

/// A page of the audit log, newest entries first, for the parameters of the function `auditEntries`.
package struct AuditPage: Sendable {
    private var conditions: [String] = []
    private var arguments: [SQLValue] = []
    private let limit: Int64

    private static let limitMax: Int64 = 200

    /// - Throws: `.validationError` (142) for invalid parameters.
    package init(_ parameters: JSON) throws {
        limit = try parameters.listLimit(standard: 50, maximum: Self.limitMax)
        if let after = try parameters.textParameter("after") {
            guard let id = Int64(after), id > 0 else {
                throw ParseError(.validationError, "after must be the next of an earlier answer.")
            }
            add("id < ?", [.int(id)])
        }
        if let who = try parameters.textParameter("who") {
            add("(userId = ? OR who = ?)", [.text(who), .text(who)])
        }
        for name in ["className", "objectId"] {
            if let value = try parameters.textParameter(name) { add("\(name) = ?", [.text(value)]) }
        }
        for (name, comparison) in [("from", ">="), ("to", "<")] {
            guard let value = parameters[name], !value.isNull else { continue }
            let text = value.stringValue ?? (value.wireType == "Date" ? value["iso"]?.stringValue : nil)
            guard let time = text.flatMap(Timestamp.init(iso:)) else {
                throw ParseError(.validationError, "\(name) must be a date.")
            }
            add("at \(comparison) ?", [.int(time.milliseconds)])
        }
    }

    private mutating func add(_ condition: String, _ values: [SQLValue]) {
        conditions.append(condition)
        arguments += values
    }

    private var sql: String {
        let filter = conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ")
        return """
            SELECT id, at, userId, who, action, className, objectId, before, after, requestId, address \
            FROM auditEntries \(filter) ORDER BY id DESC LIMIT ?
            """
    }

    /// SQLite's query plan for the page, for tests: one step per line.
    package func plan(in reader: ObjectReader) throws -> String {
        try reader.rows("EXPLAIN QUERY PLAN " + sql, arguments + [.int(limit + 1)]).map { try $0.text("detail") }
            .joined(separator: "\n")
    }

    /// `{entries, next}`; `next` is null on the last page.
    /// - Parameter tellsClient: whether entries include the client's address and request id.
    package func read(in reader: ObjectReader, tellsClient: Bool = true) throws -> JSON {
        // One extra row shows whether there is a next page.
        let rows = try reader.rows(sql, arguments + [.int(limit + 1)])
        let shown = rows.prefix(Int(limit))
        let next = try rows.count > shown.count ? shown.last.map { JSON.string(String(try $0.int("id"))) } : nil
        return ["entries": .array(try shown.map { try Self.entry($0, tellsClient) }), "next": next ?? .null]
    }

    private static func entry(_ row: SQLRow, _ tellsClient: Bool) throws -> JSON {
        let userId = try row.text("userId")
        var entry: JSON = try [
            "at": .string(Timestamp(milliseconds: row.int("at")).iso), "who": .string(row.text("who")),
            "userId": .string(userId), "via": .string(userId.isEmpty ? "masterKey" : "session"),
            "action": .string(row.text("action")), "className": .string(row.text("className")),
            "objectId": .string(row.text("objectId")), "before": state(row["before"].textValue),
            "after": state(row["after"].textValue),
        ]
        guard tellsClient else { return entry }
        entry["requestId"] = try .string(row.text("requestId"))
        entry["address"] = try .string(row.text("address"))
        return entry
    }

    private static func state(_ text: String?) -> JSON { text.flatMap { try? JSON(parsing: $0) } ?? .null }
}
