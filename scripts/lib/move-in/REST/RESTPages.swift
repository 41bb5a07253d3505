import ParseProtocol

/// A page of a class.
struct RESTPage: Sendable {
    var rows: [JSON]
    /// The last row's id; nil for an empty page.
    var lastId: String?
    /// The limit of the next page.
    var limit: Int
    /// The id of a row that is too large; then there are no others.
    var oversized: String?
}

/// Reads classes in pages ordered by `objectId`.
///
/// A page begins after the last id of the one before, so that rows that come and go meanwhile hide no other row.
/// Servers may answer fewer rows than the limit, so that only an empty page is the last one.
struct RESTPages: Sendable {
    private let client: RESTClient

    static let rowsMax = 1000
    /// 16,000 bytes for each of 1,000 rows; a page with more is asked for again in halves.
    static let bytesMax = 16 << 20

    init(_ client: RESTClient) { self.client = client }

    /// Calls `body` with each page while the next one is being fetched.
    /// - Parameters:
    ///   - condition: the `where`, without `objectId`.
    ///   - keys: the wanted fields; all if empty.
    /// - Throws: `MoveInError`, errors of `body`.
    func forEach(
        of className: String, where condition: [String: JSON] = [:], keys: String = "",
        _ body: (RESTPage) async throws -> Void
    ) async throws {
        let query = Query(className: className, condition: condition, keys: keys)
        var seen: Set<UInt64> = []
        var page = try await self.page(of: query, after: nil, limit: Self.rowsMax)
        while let last = page.lastId {
            // A server that ignores the condition would answer the same rows for ever.
            guard seen.insert(FNV1a.hash(last.utf8)).inserted else {
                throw MoveInError("\(client.name): \(className) shows the same rows again after \(last.prefix(64)).")
            }
            let limit = page.limit
            async let next = self.page(of: query, after: last, limit: limit)
            try await body(page)
            page = try await next
        }
    }

    private struct Query: Sendable {
        var className: String
        var condition: [String: JSON]
        var keys: String
    }

    private func page(of query: Query, after id: String?, limit: Int) async throws -> RESTPage {
        var limit = limit
        while true {
            do {
                return try page(try await rows(of: query, after: id, limit: limit), of: query, limit: limit)
            } catch is AnswerTooLarge {
                guard limit == 1 else {
                    limit /= 2
                    continue
                }
                return try await oversizedRow(of: query, after: id)
            }
        }
    }

    private func page(_ rows: [JSON], of query: Query, limit: Int) throws -> RESTPage {
        guard let last = rows.last else { return RESTPage(rows: [], limit: limit) }
        guard let id = last["objectId"]?.stringValue, !id.isEmpty else {
            throw MoveInError("\(client.name): \(query.className) has a row without objectId; no page can follow it.")
        }
        return RESTPage(rows: rows, lastId: id, limit: min(2 * limit, Self.rowsMax))
    }

    /// Only the id of a row that is too large to read.
    private func oversizedRow(of query: Query, after id: String?) async throws -> RESTPage {
        var query = query
        query.keys = "objectId"
        do {
            var page = try self.page(try await rows(of: query, after: id, limit: 1), of: query, limit: 1)
            page.oversized = page.lastId
            page.rows = []
            return page
        } catch is AnswerTooLarge {
            throw MoveInError("\(client.name): a row of \(query.className) is too large to read.")
        }
    }

    private func rows(of query: Query, after id: String?, limit: Int) async throws -> [JSON] {
        var condition = query.condition
        if let id { condition["objectId"] = ["$gt": .string(id)] }
        var options: [String: JSON] = ["order": "objectId", "limit": .int(Int64(limit))]
        if !condition.isEmpty { options["where"] = .object(condition) }
        if !query.keys.isEmpty { options["keys"] = .string(query.keys) }
        let answer: JSON
        do {
            answer = try await client.get(
                "/classes/\(query.className.percentEncoded)", options, bytesMax: Self.bytesMax)
        } catch let refusal as RESTRefusal {
            throw refusal.ending
        }
        guard let rows = answer["results"]?.arrayValue else {
            throw MoveInError("\(client.name): the answer to a query of \(query.className) has no results.")
        }
        // Bounds the memory, whatever the server answers.
        guard rows.count <= limit else {
            throw MoveInError("\(client.name): \(query.className) answers more rows than were asked for.")
        }
        return rows
    }
}
