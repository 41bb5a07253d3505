import Messages
import ParseProtocol

/// An operator's read, reduced to the part that another user would see.
///
/// It is the operator's own response without the rows and fields that the viewer may not read, so that it reveals
/// nothing beyond a plain read. The condition is evaluated with the operator's rights alone; the second query only asks
/// which of the found rows the viewer may read. Webhooks and cloud code run once, for the operator: none runs in the
/// name of a user who sent no request.
struct FilteredRead {
    private let className: String
    /// Nil for a query.
    private let objectId: String?
    private let request: ParseRequest
    private let principal: Principal
    private let objects: ObjectsController

    init(
        _ className: String, _ objectId: String?, _ request: ParseRequest, _ principal: Principal,
        _ objects: ObjectsController
    ) {
        self.className = className
        self.objectId = objectId
        self.request = request
        self.principal = principal
        self.objects = objects
    }

    /// Rows that a count may inspect: each is checked for the viewer.
    private static let countedMax = 1000

    /// - Throws: `.operationForbidden` (119) when the operator or the viewer may not read the class, and for options
    ///   that lead to other objects; `.invalidQuery` (102) for a count of more than 1,000 rows, and the errors of any
    ///   read.
    func answer(as viewer: Viewer) async throws(ParseError) -> ParseResponse {
        let options = try options()
        let page = try await rows(options, viewer)
        guard objectId == nil else {
            guard let row = page.rows.first else { throw .objectNotFound }
            return ParseResponse(body: row.serialized)
        }
        var answer: JSON = ["results": .array(page.rows)]
        if let cursor = page.cursor { answer["cursor"] = cursor }
        if options.wantsCount { answer["count"] = .int(Int64(try await count(options, viewer))) }
        return ParseResponse(body: answer.serialized)
    }

    private func options() throws(ParseError) -> QueryOptions {
        var options: QueryOptions
        if let objectId {
            options = try QueryOptions(get: request.options())
            options.filter = Self.filter(.string(objectId))
            options.limit = 1
        } else {
            let configuration = objects.configuration
            options = try QueryOptions(
                find: request.options(), limitMax: configuration.limitMax, skipMax: configuration.skipMax,
                mayExplain: true)
        }
        guard options.include.isEmpty, options.redirectKey == nil, !options.explains else {
            throw ParseError(
                .operationForbidden,
                "include, redirectClassNameForKey and explain cannot be combined with X-Satchel-As-User.")
        }
        return options
    }

    private static func filter(_ id: JSON) -> [UInt8] { (["objectId": id] as JSON).serialized }

    /// The operator's rows that the viewer may read.
    private func rows(
        _ options: QueryOptions, _ viewer: Viewer
    ) async throws(ParseError) -> (rows: [JSON], cursor: JSON?) {
        var own = options
        own.wantsCount = false
        let reply = try await objects.federation.find(className, own, principal, for: request)
        let found = try JSON(reply: reply, in: request.call)
        let rows = found["results"]?.arrayValue ?? []
        let seen = try await seen(rows.compactMap { $0["objectId"] }, own, viewer)
        let left = rows.compactMap { row in
            row["objectId"]?.stringValue.flatMap { seen[$0] }.map { Self.common(row, $0) }
        }
        // Only the operator's page decides whether it is the last one: rows hidden from the viewer do not count.
        return (left, rows.count < options.limit ? nil : found["cursor"])
    }

    /// The objects of a list that the viewer may read, by id.
    private func seen(
        _ ids: [JSON], _ options: QueryOptions, _ viewer: Viewer
    ) async throws(ParseError) -> [String: JSON] {
        var theirs = QueryOptions()
        // A query for one id is a get, which has a separate permission.
        theirs.filter = Self.filter(objectId == nil ? ["$in": .array(ids)] : .string(objectId ?? ""))
        // Without rows the query still checks whether the viewer may find at all.
        theirs.limit = max(ids.count, 1)
        theirs.keys = options.keys
        theirs.excludeKeys = options.excludeKeys
        var withoutHooks = request
        withoutHooks.hooks = nil
        let reply = try await objects.federation.find(className, theirs, viewer.principal, for: withoutHooks)
        let found = try JSON(reply: reply, in: request.call)
        var byId: [String: JSON] = [:]
        for row in found["results"]?.arrayValue ?? [] {
            if let id = row["objectId"]?.stringValue { byId[id] = row }
        }
        return byId
    }

    /// The operator's row, reduced to the fields in the viewer's row.
    private static func common(_ own: JSON, _ theirs: JSON) -> JSON {
        guard case .object(let members) = own, case .object(let shown) = theirs else { return [:] }
        return .object(members.filter { shown[$0.key] != nil })
    }

    private func count(_ options: QueryOptions, _ viewer: Viewer) async throws(ParseError) -> Int {
        var all = QueryOptions()
        all.filter = options.filter
        all.keys = ["objectId"]
        all.limit = Self.countedMax + 1
        let reply = try await objects.federation.find(className, all, principal, for: request)
        let own = try JSON(reply: reply, in: request.call)
        let ids = (own["results"]?.arrayValue ?? []).compactMap { $0["objectId"] }
        guard ids.count <= Self.countedMax else {
            throw ParseError(.invalidQuery, "More than \(Self.countedMax) objects cannot be counted as another user.")
        }
        return try await seen(ids, all, viewer).count
    }
}
