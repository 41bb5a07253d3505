import ObjectStore
import ParseProtocol

/// Reads issues for operators and applies their decisions.
enum IssueDesk {
    private static let columns =
        """
        id, publicId, projectId, title, culprit, level, platform, firstSeen, lastSeen, count, users, status, resolvedIn
        """

    /// Maximum bytes of a search, and of its words the number that count.
    private static let searchBytesMax = 200
    private static let wordsMax = 5

    /// Issues, last occurrence first. `search` wants each of its words in the title or the culprit; there are at most
    /// `IssueLog.issuesMax` issues to look through.
    /// - Throws: `.validationError` (142) for an unknown status and for a search that is too long.
    static func list(_ parameters: JSON, limit: Int64, _ reader: StoreReader) throws -> JSON {
        var conditions: [String] = []
        var arguments: [SQLValue] = []
        if let status = parameters["status"], !status.isNull {
            guard let status = status.stringValue.flatMap(IssueStatus.init) else {
                let all = IssueStatus.allCases.map(\.rawValue).joined(separator: ", ")
                throw ParseError(.validationError, "status must be one of \(all).")
            }
            conditions.append("status = ?")
            arguments.append(.text(status.rawValue))
        }
        if let project = try text("projectId", parameters) {
            conditions.append("projectId = ?")
            arguments.append(.int(Int64(project) ?? 0))
        }
        if let release = try text("release", parameters) {
            conditions.append("id IN (SELECT issueId FROM issueReleases WHERE release = ?)")
            arguments.append(.text(release))
        }
        if let search = try text("search", parameters) {
            guard search.utf8.count <= searchBytesMax, !search.utf8.contains(0) else {
                throw ParseError(.validationError, "search must have at most \(searchBytesMax) bytes without U+0000.")
            }
            for word in search.split(whereSeparator: \.isWhitespace).prefix(wordsMax) {
                let pattern = ["!", "%", "_"].reduce(String(word)) { $0.replacing($1, with: "!\($1)") }
                // The engine folds letters on both sides.
                let matches = ["title", "culprit"].map { "lower(\($0)) LIKE lower(?) ESCAPE '!'" }
                conditions.append("(\(matches.joined(separator: " OR ")))")
                arguments += [.text("%\(pattern)%"), .text("%\(pattern)%")]
            }
        }
        let condition = conditions.isEmpty ? "" : "WHERE " + conditions.joined(separator: " AND ")
        let rows = try reader.rows(
            "SELECT \(columns) FROM issues \(condition) ORDER BY lastSeen DESC, id DESC LIMIT ?",
            arguments + [.int(limit)])
        var count: Int64?
        if try parameters.wantsCount() {
            let row = try reader.rows("SELECT count(*) AS issues FROM issues \(condition)", arguments).first
            count = try row?.int("issues")
        }
        return .listing(try rows.map { .object(try json($0)) }, count: count)
    }

    /// One issue with its releases, its newest events and the stack of the last one.
    /// - Throws: `.objectNotFound` (101).
    static func one(_ parameters: JSON, _ reader: StoreReader) throws -> JSON {
        let row = try row(of: parameters) { try reader.rows($0, $1) }
        var issue = try json(row)
        let id = try row.int("id")
        issue["releases"] = .array(
            try reader.rows(
                """
                SELECT release, count, firstSeen, lastSeen FROM issueReleases WHERE issueId = ? \
                ORDER BY lastSeen DESC LIMIT 100
                """,
                [.int(id)]
            ).map {
                try [
                    "release": .string($0.text("release")), "count": .int($0.int("count")),
                    "firstSeen": moment($0, "firstSeen"), "lastSeen": moment($0, "lastSeen"),
                ]
            })
        issue["events"] = .array(try EventStore.newest(limit: EventStore.perIssueMax, issueId: id, reader))
        if let event = try EventStore.latest(issueId: id, reader) {
            issue["stack"] = .array(CrashEvent(event).frames.reversed().map { .string($0.text) })
            issue["event"] = event
        }
        return .object(issue)
    }

    /// The row id of the issue in the parameters; nil when they name none.
    /// - Throws: `.objectNotFound` (101), `.validationError` (142).
    static func id(_ parameters: JSON, _ reader: StoreReader) throws -> Int64? {
        guard let value = parameters["issueId"], !value.isNull else { return nil }
        return try row(of: parameters) { try reader.rows($0, $1) }.int("id")
    }

    /// Resolves an issue: `inRelease` and earlier releases may still have it. The default is the newest release that
    /// had it.
    /// - Throws: `.objectNotFound` (101), `.validationError` (142).
    static func resolve(_ parameters: JSON, in transaction: StoreTransaction) throws -> JSON {
        let id = try row(of: parameters) { try transaction.rows($0, $1) }.int("id")
        let release = try text("inRelease", parameters) ?? newestRelease(id, in: transaction)
        guard release.utf8.count <= 500 else { throw ParseError(.validationError, "inRelease is too long.") }
        return try set(.resolved, id, resolvedIn: release, in: transaction)
    }

    /// - Throws: `.objectNotFound` (101).
    static func set(_ status: IssueStatus, _ parameters: JSON, in transaction: StoreTransaction) throws -> JSON {
        try set(status, row(of: parameters) { try transaction.rows($0, $1) }.int("id"), resolvedIn: "", in: transaction)
    }

    private static func set(
        _ status: IssueStatus, _ id: Int64, resolvedIn: String, in transaction: StoreTransaction
    ) throws -> JSON {
        let row = try transaction.rows(
            "UPDATE issues SET status = ?, resolvedIn = ?, resolvedAt = ? WHERE id = ? RETURNING \(columns)",
            [.text(status.rawValue), .text(resolvedIn), .int(transaction.now.milliseconds), .int(id)]
        ).first
        return .object(try row.map(json) ?? [:])
    }

    /// The status of the issue in the parameters, for the audit log; nil when they name none.
    static func state(_ parameters: JSON, in transaction: StoreTransaction) throws -> JSON? {
        guard let id = parameters["issueId"]?.stringValue else { return nil }
        let row = try transaction.rows("SELECT status, resolvedIn FROM issues WHERE publicId = ?", [.text(id)]).first
        return try row.map {
            try ["status": .string($0.text("status")), "resolvedIn": .string($0.text("resolvedIn"))]
        }
    }

    private static func newestRelease(_ id: Int64, in transaction: StoreTransaction) throws -> String {
        let releases = try transaction.rows(
            "SELECT release FROM issueReleases WHERE issueId = ? AND release <> '' ORDER BY firstSeen", [.int(id)]
        ).map { try $0.text("release") }
        return Release.newest(of: releases)
    }

    private static func row(
        of parameters: JSON, _ rows: (_ sql: String, _ arguments: [SQLValue]) throws -> [SQLRow]
    ) throws -> SQLRow {
        guard let id = try text("issueId", parameters) else {
            throw ParseError(.validationError, "issueId must be a text.")
        }
        guard let row = try rows("SELECT \(columns) FROM issues WHERE publicId = ?", [.text(id)]).first else {
            throw ParseError.objectNotFound
        }
        return row
    }

    private static func text(_ name: String, _ parameters: JSON) throws -> String? {
        guard let value = parameters[name], !value.isNull else { return nil }
        guard let text = value.stringValue, !text.isEmpty else {
            throw ParseError(.validationError, "\(name) must be a text.")
        }
        return text
    }

    private static func json(_ row: SQLRow) throws -> [String: JSON] {
        var issue: [String: JSON] = try [
            "issueId": .string(row.text("publicId")), "projectId": .string(String(row.int("projectId"))),
            "firstSeen": moment(row, "firstSeen"), "lastSeen": moment(row, "lastSeen"), "count": .int(row.int("count")),
            "users": .int(row.int("users")),
        ]
        for name in ["title", "culprit", "level", "platform", "status"] { issue[name] = .string(try row.text(name)) }
        if try row.text("status") != IssueStatus.unresolved.rawValue, try !row.text("resolvedIn").isEmpty {
            issue["resolvedIn"] = try .string(row.text("resolvedIn"))
        }
        return issue
    }

    private static func moment(_ row: SQLRow, _ name: String) throws -> JSON {
        Timestamp(milliseconds: try row.int(name)).wire
    }
}
