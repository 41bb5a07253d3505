import Foundation
import MessageBus
import Messages
import ParseProtocol

/// Resolves `$inQuery`, `$notInQuery`, `$select` and `$dontSelect` at the owners of their classes, innermost first, and
/// puts the results into the outer filter as `$in` and `$nin`. It also resolves `$relatedTo` of objects that another
/// service owns.
///
/// Sub-queries of one level are sent together: one request per owner and level.
struct SubQueries {
    let federation: Federation
    let principal: Principal
    let request: ParseRequest
    private var count = 0

    /// Limits on sub-queries per request and on their depth. A client that needs more has to send separate queries.
    private static let countMax = 20
    private static let depthMax = 5

    init(federation: Federation, principal: Principal, request: ParseRequest) {
        self.federation = federation
        self.principal = principal
        self.request = request
    }

    /// Whether the filter's text names a sub-query. Most filters do not and are not decoded here.
    static func mayOccur(in filter: [UInt8]) -> Bool {
        filter.contains(text: "$")
            && (filter.contains(text: "$inQuery") || filter.contains(text: "$notInQuery")
                || filter.contains(text: "$select") || filter.contains(text: "$dontSelect")
                || filter.contains(text: "$relatedTo"))
    }

    /// - Parameter className: the class that the filter is for. Without it a `$relatedTo` is left to the class's owner.
    /// - Throws: `.invalidQuery` (102) or `.invalidJSON` (107) for a malformed sub-query, and the errors of its owner.
    mutating func resolve(_ filter: [UInt8], of className: String? = nil) async throws(ParseError) -> [UInt8] {
        guard let json = try? JSON(parsing: filter), case .object(let members) = json else {
            throw ParseError(.invalidJSON, "where must be a JSON object.")
        }
        let resolved = try await resolve([SubQueryFilter(className: className, members: members)], depth: 0)
        guard let first = resolved.first else { throw .internalError }
        return JSON.object(first).serialized
    }

    /// Resolves filters of one level together.
    private mutating func resolve(
        _ filters: [SubQueryFilter], depth: Int
    ) async throws(ParseError) -> [[String: JSON]] {
        var found: [SubQuery] = []
        for filter in filters {
            _ = try Self.rewritten(filter) { query in
                found.append(query)
                return []
            }
        }
        guard !found.isEmpty else { return filters.map(\.members) }
        guard depth < Self.depthMax else { throw ParseError(.invalidQuery, "Sub-queries are nested too deep.") }
        count += found.count
        guard count <= Self.countMax else {
            throw ParseError(.invalidQuery, "At most \(Self.countMax) sub-queries are possible.")
        }
        for index in found.indices {
            found[index] = try await found[index].redirected { key, className throws(ParseError) in
                try await federation.target(of: key, className, principal, in: request.call)
            }
        }
        let inner = try await resolve(found.map(\.inner), depth: depth + 1)
        guard inner.count == found.count else { throw .internalError }
        var answers = try await answers(to: Array(zip(found, inner)))[...]
        var resolved: [[String: JSON]] = []
        for filter in filters { resolved.append(try Self.rewritten(filter) { _ in answers.popFirst() ?? [] }) }
        return resolved
    }

    /// Sends one request to each owner, concurrently.
    private func answers(
        to queries: [(query: SubQuery, filter: [String: JSON])]
    ) async throws(ParseError) -> [[JSON]] {
        var answers: [[JSON]] = queries.map { _ in [] }
        var plain: [Int] = []
        for (index, (query, filter)) in queries.enumerated() {
            // A query of a class with a webhook runs as a separate find.
            guard case .find(let className, var options, _, _) = query,
                try await HookedRead(request.hooks, className, principal) != nil
            else {
                plain.append(index)
                continue
            }
            options.filter = JSON.object(filter).serialized
            answers[index] = try query.values(
                of: try await federation.find(className, options, principal, for: request), in: request.call)
        }
        let byOwner = Dictionary(grouping: plain) { queries[$0].query.owner }
        let lookups = byOwner.mapValues { indices in
            LookupRequest.with {
                $0.lookups = indices.map {
                    queries[$0].query.lookup(filter: queries[$0].filter, hooks: request.hooks)
                }
            }
        }
        let (services, principal) = (federation.services, principal)
        var context = request.call
        context.budget = context.budget?.share(among: lookups.count)
        let replies = await withTaskGroup(of: (String, Result<[[UInt8]], ParseError>).self) { group in
            for (owner, message) in lookups {
                group.addTask { [context] in
                    do throws(ParseError) {
                        let reply = try await services.read(
                            ObjectCalls(of: owner).lookup, message, for: principal, in: context)
                        return (owner, .success(reply.documents))
                    } catch {
                        return (owner, .failure(error))
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        for (owner, reply) in replies {
            let documents = try reply.get()
            let indices = byOwner[owner] ?? []
            guard documents.count == indices.count else { throw .internalError }
            for (index, document) in zip(indices, documents) {
                answers[index] = try queries[index].query.values(of: document, in: request.call)
            }
        }
        return answers
    }

    // MARK: Filters

    /// The filter with each sub-query replaced by the values of `answer`. The order of the calls depends on the filter
    /// alone.
    private static func rewritten(
        _ filter: SubQueryFilter, _ answer: (SubQuery) throws(ParseError) -> [JSON]
    ) throws(ParseError) -> [String: JSON] {
        var resolved: [String: JSON] = [:]
        // A second constraint of the same kind becomes a separate condition.
        var further: [JSON] = []
        for (key, value) in filter.members.sorted(by: { $0.key < $1.key }) {
            if ["$or", "$and", "$nor"].contains(key), case .array(let branches) = value {
                var results: [JSON] = []
                for branch in branches {
                    guard case .object(let members) = branch else {
                        throw ParseError(.invalidQuery, "Bad \(key) format - use an array of objects.")
                    }
                    let inner = SubQueryFilter(className: filter.className, members: members)
                    results.append(.object(try rewritten(inner, answer)))
                }
                resolved[key] = .array(results)
            } else if key == "$relatedTo" {
                if let className = filter.className, let query = SubQuery(relatedTo: value, of: className) {
                    further.append(["objectId": ["$in": .array(try answer(query))]])
                } else {
                    resolved[key] = value
                }
            } else if case .object(var constraint) = value {
                for name in ["$inQuery", "$notInQuery", "$select", "$dontSelect"] {
                    guard let specification = constraint.removeValue(forKey: name) else { continue }
                    let values = try answer(SubQuery(name, specification))
                    let condition: JSON = [(name == "$inQuery" || name == "$select") ? "$in" : "$nin": .array(values)]
                    if constraint.isEmpty, resolved[key] == nil {
                        resolved[key] = condition
                    } else {
                        further.append(.object([key: condition]))
                    }
                }
                if !constraint.isEmpty || value == [:] {
                    if let first = resolved[key] { further.append(.object([key: first])) }
                    resolved[key] = .object(constraint)
                }
            } else {
                resolved[key] = value
            }
        }
        if let branches = resolved["$and"], branches.arrayValue == nil {
            throw ParseError(.invalidQuery, "Bad $and format - use an array value.")
        }
        if !further.isEmpty { resolved["$and"] = .array((resolved["$and"]?.arrayValue ?? []) + further) }
        return resolved
    }
}
