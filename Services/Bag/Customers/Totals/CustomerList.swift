import ObjectStore
import ParseProtocol
import ServiceKit

/// `customers {customerId?, search?, tag?, sort?, limit?, skip?}`: customers with their totals, for the order desk and
/// support.
package struct CustomerList: Sendable {
    private let conditions: [String]
    private let arguments: [SQLValue]
    private let sorting: String
    private let limit: Int64
    private let skip: Int64
    /// The only customer wanted, with notes; nil for a list.
    private let customerId: String?

    private static let names: Set<String> = ["customerId", "search", "tag", "sort", "limit", "skip"]
    /// The columns by which a list is sorted.
    private static let sorts = [
        "name": "byName", "email": "byEmail", "orders": "orders", "spent": "spent", "lastOrder": "lastOrderAt",
    ]
    private static let limitMax: Int64 = 500
    private static let skipMax: Int64 = 1_000_000
    private static let searchBytesMax = 200
    /// Compared words of a search; operators type fewer.
    private static let wordsMax = 6

    /// - Throws: `.validationError` (142) for invalid parameters.
    package init(_ parameters: JSON) throws {
        try parameters.requireOnly(Self.names)
        var conditions: [String] = []
        var arguments: [SQLValue] = []
        let isOne = !(parameters["customerId"]?.isNull ?? true)
        let customerId = try isOne ? parameters.objectIdParameter("customerId") : nil
        if let customerId {
            conditions.append("customerId = ?")
            arguments.append(.text(customerId))
        }
        let search = try parameters.textParameter("search", bytesMax: Self.searchBytesMax) ?? ""
        for word in CustomerProfile.words(of: search).prefix(Self.wordsMax) {
            conditions.append("customerId IN (SELECT customerId FROM customerWords WHERE word >= ? AND word < ?)")
            // All words with the prefix sort below the prefix plus the highest character.
            arguments += [.text(word), .text(word + "\u{10FFFF}")]
        }
        if let tag = try parameters.textParameter("tag") {
            conditions.append("customerId IN (SELECT customerId FROM customerTags WHERE tag = ?)")
            arguments.append(.text(tag))
        }
        self.customerId = customerId
        self.conditions = conditions
        self.arguments = arguments
        sorting = try Self.sorting(parameters["sort"])
        limit = try parameters.listLimit(standard: 50, maximum: Self.limitMax)
        guard let skip = (parameters["skip"] ?? 0).intValue, (0...Self.skipMax).contains(skip) else {
            throw ParseError(.validationError, "skip must be a whole number from 0 to \(Self.skipMax).")
        }
        self.skip = skip
    }

    private static func sorting(_ value: JSON?) throws -> String {
        let text = value?.isNull ?? true ? "-lastOrder" : value?.stringValue ?? ""
        let isDescending = text.hasPrefix("-")
        guard let column = sorts[String(text.dropFirst(isDescending ? 1 : 0))] else {
            let all = sorts.keys.sorted().joined(separator: ", ")
            throw ParseError(.validationError, "sort must be one of \(all), with - before it for descending order.")
        }
        let direction = isDescending ? "DESC" : "ASC"
        return "\(column) \(direction), customerId \(direction)"
    }

    /// `{results, count, tags, counting}`.
    /// - Parameter currency: the shop's currency.
    package func read(currency: String, in store: ObjectReader) throws -> JSON {
        let condition = conditions.isEmpty ? "" : "WHERE \(conditions.joined(separator: " AND "))"
        let rows = try store.rows(
            "SELECT \(CustomerRow.columns) FROM customers \(condition) ORDER BY \(sorting) LIMIT ? OFFSET ?",
            arguments + [.int(limit), .int(skip)]
        ).map { try CustomerRow($0, shopCurrency: currency) }
        let count =
            try store.rows("SELECT count(*) AS found FROM customers \(condition)", arguments).first?
            .int("found") ?? 0
        let tags = try CustomerMarks.tags(of: rows.map(\.customerId), in: store)
        var results = rows.map { $0.json(tags: tags[$0.customerId] ?? []) }
        if let customerId, !results.isEmpty {
            results[0]["notes"] = .array(try CustomerMarks.notes(of: customerId, in: store))
        }
        return [
            "results": .array(results), "count": .int(count), "tags": try CustomerMarks.allTags(in: store),
            "counting": .bool(try CustomerTotals.isCounting(in: store)),
        ]
    }
}
