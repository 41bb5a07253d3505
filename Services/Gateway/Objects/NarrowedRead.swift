import Messages
import ParseProtocol

/// A read of an operator that shows what of it somebody else would see.
///
/// It is the operator's own answer without the rows and fields that the viewer has no right to, so that nobody learns
/// anything by it that a plain read would not tell. The condition is evaluated with the operator's rights alone: of the
/// viewer it is only asked which of the rows that were found he sees. Webhooks and cloud code are asked once, as for
/// the operator: none of them runs in the name of somebody who asked for nothing.
struct NarrowedRead {
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

    /// Rows that a count looks at, at most: whether the viewer sees one is asked for each.
    private static let countedMax = 1000

    /// The answer.
    /// - Throws: `.operationForbidden` (119) where the operator or the viewer may not read the class, and for options
    ///   that lead to other objects; `.invalidQuery` (102) for a count of more than 1,000 rows, and as any read.
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
            throw ParseError(.operationForbidden, "X-Satchel-As-User is for the objects of one class alone.")
        }
        return options
    }

    private static func filter(_ id: JSON) -> [UInt8] { (["objectId": id] as JSON).serialized }

    /// What the operator finds, as far as the viewer sees it.
    private func rows(
        _ options: QueryOptions, _ viewer: Viewer
    ) async throws(ParseError) -> (rows: [JSON], cursor: JSON?) {
        var own = options
        own.wantsCount = false
        let found = try JSON(reply: try await objects.federation.find(className, own, principal, for: request))
        let rows = found["results"]?.arrayValue ?? []
        let seen = try await seen(rows.compactMap { $0["objectId"] }, own, viewer)
        let left = rows.compactMap { row in
            row["objectId"]?.stringValue.flatMap { seen[$0] }.map { Self.common(row, $0) }
        }
        // Rows that were left out do not make it the last page; a page of the operator's that is short does.
        return (left, rows.count < options.limit ? nil : found["cursor"])
    }

    /// Those of some objects that the viewer sees, by id.
    private func seen(
        _ ids: [JSON], _ options: QueryOptions, _ viewer: Viewer
    ) async throws(ParseError) -> [String: JSON] {
        var theirs = QueryOptions()
        // To ask for one id is to get an object, which is a right of its own.
        theirs.filter = Self.filter(objectId == nil ? ["$in": .array(ids)] : .string(objectId ?? ""))
        // Of none it is still asked whether the viewer may find any.
        theirs.limit = max(ids.count, 1)
        theirs.keys = options.keys
        theirs.excludeKeys = options.excludeKeys
        var plain = request
        plain.hooks = nil
        let found = try JSON(
            reply: try await objects.federation.find(className, theirs, viewer.principal, for: plain))
        var byId: [String: JSON] = [:]
        for row in found["results"]?.arrayValue ?? [] {
            if let id = row["objectId"]?.stringValue { byId[id] = row }
        }
        return byId
    }

    /// The operator's row with the fields that the viewer's has as well.
    private static func common(_ own: JSON, _ theirs: JSON) -> JSON {
        guard case .object(let members) = own, case .object(let shown) = theirs else { return [:] }
        return .object(members.filter { shown[$0.key] != nil })
    }

    private func count(_ options: QueryOptions, _ viewer: Viewer) async throws(ParseError) -> Int {
        var all = QueryOptions()
        all.filter = options.filter
        all.keys = ["objectId"]
        all.limit = Self.countedMax + 1
        let own = try JSON(reply: try await objects.federation.find(className, all, principal, for: request))
        let ids = (own["results"]?.arrayValue ?? []).compactMap { $0["objectId"] }
        guard ids.count <= Self.countedMax else {
            throw ParseError(.invalidQuery, "More than \(Self.countedMax) objects are not counted as somebody else.")
        }
        return try await seen(ids, all, viewer).count
    }
}
