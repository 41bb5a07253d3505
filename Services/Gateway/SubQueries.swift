import Foundation
import Messages
import ParseProtocol

/// Answers `$inQuery`, `$notInQuery`, `$select` and `$dontSelect` at the owners of their classes, innermost first, and puts
/// the results into the outer filter as `$in` and `$nin`.
struct SubQueries {
    let federation: Federation
    let principal: Principal
    let trace: String
    private var count = 0

    /// Sub-queries in one request, and rows one of them may bring: past these the client should ask otherwise.
    private static let countMax = 20
    private static let depthMax = 5
    private static let rowsMax = 10_000

    init(federation: Federation, principal: Principal, trace: String) {
        self.federation = federation
        self.principal = principal
        self.trace = trace
    }

    /// Whether the filter's text names a sub-query at all; most do not and are never decoded here.
    static func mayOccur(in filter: [UInt8]) -> Bool {
        filter.contains(text: "$inQuery") || filter.contains(text: "$notInQuery") || filter.contains(text: "$select")
            || filter.contains(text: "$dontSelect")
    }

    /// - Throws: 102 or 107 for a malformed sub-query, and whatever its owner answers.
    mutating func resolve(_ filter: [UInt8]) async throws(ParseError) -> [UInt8] {
        guard let json = try? JSON(parsing: filter), case .object(let members) = json else {
            throw ParseError(.invalidJSON, "where must be a JSON object.")
        }
        return JSON.object(try await resolve(members, depth: 0)).serialized
    }

    private mutating func resolve(_ filter: [String: JSON], depth: Int) async throws(ParseError) -> [String: JSON] {
        guard depth <= Self.depthMax else { throw ParseError(.invalidQuery, "Sub-queries are nested too deep.") }
        var resolved: [String: JSON] = [:]
        // A constraint that stands beside another of its kind becomes a condition of its own.
        var further: [JSON] = []
        for (key, value) in filter {
            if ["$or", "$and", "$nor"].contains(key), case .array(let branches) = value {
                var results: [JSON] = []
                for branch in branches {
                    guard case .object(let members) = branch else {
                        throw ParseError(.invalidQuery, "Bad \(key) format - use an array of objects.")
                    }
                    results.append(.object(try await resolve(members, depth: depth)))
                }
                resolved[key] = .array(results)
            } else if case .object(var constraint) = value {
                for name in ["$inQuery", "$notInQuery", "$select", "$dontSelect"] {
                    guard let query = constraint.removeValue(forKey: name) else { continue }
                    let matches = try await run(name, query, depth: depth)
                    let condition: JSON = [(name == "$inQuery" || name == "$select") ? "$in" : "$nin": .array(matches)]
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

    /// The values a sub-query brings: pointers for the query forms, values of its key for the select forms.
    private mutating func run(_ name: String, _ specification: JSON, depth: Int) async throws(ParseError) -> [JSON] {
        count += 1
        guard count <= Self.countMax else {
            throw ParseError(.invalidQuery, "At most \(Self.countMax) sub-queries are possible.")
        }
        let selects = name.hasSuffix("elect")
        let query = selects ? specification["query"] : specification
        guard let query, let className = query["className"]?.stringValue, Names.isClassName(className),
            case .object(let inner) = query["where"] ?? (selects ? [:] : .null)
        else { throw ParseError(.invalidQuery, "improper usage of \(name)") }
        var key = "objectId"
        if selects {
            guard let wanted = specification["key"]?.stringValue, specification.objectValue?.count == 2,
                wanted.split(separator: ".", omittingEmptySubsequences: false).allSatisfy({
                    Names.isIdentifier(String($0))
                })
            else { throw ParseError(.invalidQuery, "improper usage of \(name)") }
            key = wanted
        }
        var options = QueryOptions()
        options.filter = JSON.object(try await resolve(inner, depth: depth + 1)).serialized
        options.keys = [key]
        if let order = query["order"] { options.order = try QueryOptions.list(order, "order") }
        options.skip = Int(clamping: query["skip"]?.intValue ?? 0)
        options.limit = Int(clamping: min(query["limit"]?.intValue ?? .max, Int64(Self.rowsMax + 1)))
        let answer = try await federation.find(className, options, principal, trace: trace)
        guard let rows = try JSON(reply: answer)["results"]?.arrayValue else { throw .internalError }
        guard rows.count <= Self.rowsMax else {
            throw ParseError(.invalidQuery, "A sub-query matches more than \(Self.rowsMax) objects.")
        }
        return rows.compactMap { row in
            if !selects { return row["objectId"]?.stringValue.map { .pointer(className, $0) } }
            return key.split(separator: ".").reduce(row) { value, part in value?[String(part)] }
        }
    }
}
