import ObjectStore
import ParseProtocol

/// The query compiler: any bytes as `where`, order and keys, against a small store with a field of every type.
struct QueryTarget: FuzzTarget {
    let name = "query"
    let testInputs = 1500
    let dictionary =
        [
            "$eq", "$ne", "$lt", "$lte", "$gt", "$gte", "$in", "$nin", "$all", "$containedBy", "$exists", "$regex",
            "$options", "$text",
            "$search", "$term", "$select", "$dontSelect", "$inQuery", "$notInQuery", "$nearSphere", "$maxDistance",
            "$maxDistanceInKilometers", "$minDistance", "$within", "$box", "$geoWithin", "$polygon", "$centerSphere",
            "$geoIntersects",
            "$point", "$relatedTo", "object", "key", "$or", "$and", "$nor", "$relativeTime", "12 days ago", "in 1 year",
            "now", "__type",
            "Pointer", "Date", "iso", "GeoPoint", "Polygon", "coordinates", "latitude", "longitude", "Bytes", "File",
            "className", "objectId",
            "createdAt", "updatedAt", "ACL", "where", "order", "keys", "limit", "skip", "$score", "-", ".", ",",
            "-$natural", "_rperm", "_hashed_password",
            "(a+)+$", "\\Q", "\\E", "[", "(?<n>a)", "\\1", "(?R)", "\\C", "imxs", "u", "'", "\"", "--", "%00", "\0",
        ] + QueryTarget.fields

    static let fields =
        ValueKind.allCases.map(\.rawValue) + ["relation", "missing", "object.x", "object.x.y", "array.x"]

    private let store: FuzzStore

    init() async throws {
        store = try await FuzzStore()
        _ = try await store.store.write { job in
            var random = Seeded(1)
            for index in 0..<40 {
                var object: [String: JSON] = [:]
                for kind in ValueKind.allCases where index == 0 || random.chance(80) {
                    object[kind.rawValue] = kind.value(&random)
                }
                if index.isMultiple(of: 3) {
                    object["ACL"] = ["annannanna": ["read": true], "role:admins": ["write": true]]
                }
                let brand = JSON.pointer("Brand", "b1")
                if index.isMultiple(of: 5) { object["relation"] = ["__op": "AddRelation", "objects": [brand]] }
                _ = try job.create("Thing", .object(object), caller: .master)
            }
            _ = try job.create("Brand", ["title": "x"], objectId: "b1", caller: .master)
        }
    }

    func generate(_ random: inout Seeded) -> [UInt8] {
        var queries = RandomQuery(fields: ValueKind.allCases.map { ($0.rawValue, $0) }, values: [:])
        var query: JSON = ["where": queries.condition(&random)]
        if random.chance(50) { query["order"] = .string(random.pick(["-", "", "+"]) + random.pick(Self.fields)) }
        if random.chance(30) { query["keys"] = .string(random.pick(Self.fields)) }
        if random.chance(30) { query["limit"] = .int(Int64(random.below(50))) }
        if random.chance(30) { query["skip"] = .int(Int64(random.below(50))) }
        return query.serialized
    }

    func run(_ input: [UInt8]) async throws -> String {
        let query = Self.query(input)
        do {
            var words: [String] = []
            for caller in [Caller.master, Caller(userId: "annannanna", roles: ["admins"]), .anonymous] {
                words.append(try await store.store.read { try Self.check(query, $0, caller) })
            }
            return words.joined(separator: " ")
        } catch let error as Violation {
            throw error
        } catch {
            return try PublicError.check(error, input: input)
        }
    }

    /// An input that is an object with a `where` gives a query's options; any other input is the `where`.
    private static func query(_ input: [UInt8]) -> Query {
        var query = Query(className: "Thing", where: input, wantsCount: true)
        guard let options = try? JSON(parsing: input), let condition = options["where"] else { return query }
        query = Query(className: "Thing", where: condition.serialized, wantsCount: true)
        func names(_ key: String) -> [String] {
            (options[key]?.stringValue ?? "").utf8.split(separator: UInt8(ascii: ",")).map { String(Substring($0)) }
        }
        query.order = names("order")
        query.keys = names("keys")
        query.excludeKeys = names("excludeKeys")
        if let limit = options["limit"]?.intValue { query.limit = Int(limit) }
        if let skip = options["skip"]?.intValue { query.skip = Int(skip) }
        return query
    }

    private static func check(_ query: Query, _ reader: StoreReader, _ caller: Caller) throws -> String {
        let page = try reader.find(query, caller: caller)
        let body = try JSON(parsing: page.body)
        guard let results = body["results"]?.arrayValue, let count = body["count"]?.intValue else {
            throw Violation("An answer has no results or no count.")
        }
        let wanted = max(0, min(Int(count) - max(0, query.skip), max(0, query.limit)))
        try require(
            results.count == wanted && page.rows == wanted, "\(results.count) rows instead of \(wanted) of \(count)")
        let ids = results.compactMap { $0["objectId"]?.stringValue }
        try require(Set(ids).count == results.count, "A row is there twice, or has no id.")
        let alone = try reader.count(query, caller: caller)
        try require(alone == Int(count), "count says \(alone), find says \(count)")
        return "\(count)"
    }
}
