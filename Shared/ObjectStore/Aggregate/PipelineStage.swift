import ParseProtocol

/// One validated stage of an aggregation pipeline.
enum PipelineStage {
    /// In the request's form: the first one becomes SQL, later ones a `DocumentCondition`.
    case match(JSON)
    case project(Projection)
    case group(key: AggregateExpression, fields: [String: GroupField])
    case sort([(path: AggregatePath, isDescending: Bool)])
    case limit(Int)
    case skip(Int)
    case unwind(path: AggregatePath, keepsEmpty: Bool, index: String?)
    case count(String)
    case sample(Int)
    case lookup(Lookup)

    static let stagesMax = 50

    /// - Parameter json: an array of stages with one member each; the keys of `$sort` as an array of pairs, because the
    ///   members of a JSON object have no order here.
    /// - Throws: `.invalidQuery` (102) for an invalid pipeline, `.invalidKeyName` (105) for an invalid name.
    static func pipeline(_ json: JSON) throws -> [PipelineStage] {
        guard case .array(let stages) = json else {
            throw ParseError(.invalidQuery, "A pipeline is an array of stages.")
        }
        guard stages.count <= stagesMax else {
            throw ParseError(.invalidQuery, "A pipeline may have at most \(stagesMax) stages.")
        }
        return try stages.flatMap { stage -> [PipelineStage] in
            guard case .object(let members) = stage else {
                throw ParseError(.invalidQuery, "Each stage of a pipeline is an object.")
            }
            guard members.count == 1, let (name, specification) = members.first else {
                let names = members.keys.sorted().joined(separator: ", ")
                throw ParseError(
                    .invalidQuery, "Pipeline stages should only have one key but found \(names.prefix(200)).")
            }
            return try PipelineStage.stages(name, specification)
        }
    }

    private static func stages(_ name: String, _ specification: JSON) throws -> [PipelineStage] {
        switch name {
        case "$match":
            guard case .object = specification else { throw ParseError(.invalidQuery, "$match needs an object.") }
            return [.match(specification)]
        case "$project": return [.project(try Projection(project: specification))]
        case "$addFields", "$set": return [.project(try Projection(addFields: specification))]
        case "$unset": return [.project(try Projection(unset: specification))]
        case "$group": return [try group(specification)]
        case "$sort": return [.sort(try sortKeys(specification))]
        case "$limit": return [.limit(try number(specification, name, from: 1))]
        case "$skip": return [.skip(try number(specification, name, from: 0))]
        case "$lookup": return [.lookup(try Lookup(specification))]
        case "$unwind": return [try unwind(specification)]
        case "$count": return [.count(try fieldName(specification, name))]
        case "$sample":
            guard let size = specification["size"], specification.objectValue?.count == 1 else {
                throw ParseError(.invalidQuery, "$sample needs a size.")
            }
            return [.sample(try number(size, name, from: 1))]
        case "$sortByCount":
            let count = try GroupField(["$sum": 1], name: "count")
            return [
                .group(key: try AggregateExpression(specification), fields: ["count": count]),
                .sort([(try AggregatePath("count"), true)]),
            ]
        case _ where unsupported.contains(name):
            throw ParseError(.invalidQuery, "The aggregate stage '\(name)' is not available.")
        default: throw ParseError(.invalidQuery, "Invalid aggregate stage '\(name.prefix(100))'.")
        }
    }

    /// Stages of other servers. Stages that write will never be supported: a pipeline only reads.
    private static let unsupported: Set<String> = [
        "$graphLookup", "$facet", "$bucket", "$bucketAuto", "$geoNear", "$replaceRoot", "$replaceWith",
        "$redact",
        "$unionWith", "$merge", "$out", "$indexStats", "$collStats", "$setWindowFields", "$densify", "$fill", "$search",
    ]

    private static func group(_ specification: JSON) throws -> PipelineStage {
        guard case .object(let members) = specification else {
            throw ParseError(.invalidQuery, "$group needs an object.")
        }
        guard members["objectId"] == nil else {
            throw ParseError(.invalidQuery, "Cannot use 'objectId' in aggregation stage $group.")
        }
        guard let key = members["_id"] else {
            throw ParseError(.invalidQuery, "Invalid parameter for query: $group. Missing key _id")
        }
        var fields: [String: GroupField] = [:]
        for (name, accumulator) in members where name != "_id" {
            guard Names.isIdentifier(name) else {
                throw ParseError(.invalidKeyName, "Invalid key name: \(name.prefix(200))")
            }
            fields[name] = try GroupField(accumulator, name: name)
        }
        return .group(key: try AggregateExpression(key), fields: fields)
    }

    private static func sortKeys(_ specification: JSON) throws -> [(path: AggregatePath, isDescending: Bool)] {
        var keys: [(name: String, direction: JSON)] = []
        switch specification {
        case .object(let members):
            guard members.count == 1 else {
                throw ParseError(.invalidQuery, "$sort with several keys needs an array of [name, direction] pairs.")
            }
            keys = members.map { ($0, $1) }
        case .array(let pairs):
            for pair in pairs {
                guard case .array(let parts) = pair, parts.count == 2, case .string(let name) = parts[0] else {
                    throw ParseError(.invalidQuery, "$sort needs an object.")
                }
                keys.append((name, parts[1]))
            }
        default: break
        }
        guard (1...QueryOrder.keysMax).contains(keys.count) else {
            throw ParseError(.invalidQuery, "$sort needs an object with 1 to \(QueryOrder.keysMax) keys.")
        }
        return try keys.map { name, direction in
            guard direction == 1 || direction == -1 else {
                throw ParseError(.invalidQuery, "A direction of $sort is 1 or -1.")
            }
            return (try AggregatePath(name), direction == -1)
        }
    }

    private static func unwind(_ specification: JSON) throws -> PipelineStage {
        let members = specification.objectValue ?? ["path": specification]
        guard case .string(let path) = members["path"], path.hasPrefix("$"),
            members.keys.allSatisfy(["path", "preserveNullAndEmptyArrays", "includeArrayIndex"].contains)
        else { throw ParseError(.invalidQuery, "$unwind needs the path of a field, \"$field\".") }
        let index = try members["includeArrayIndex"].map { try fieldName($0, "$unwind") }
        guard let keepsEmpty = (members["preserveNullAndEmptyArrays"] ?? false).boolValue else {
            throw ParseError(.invalidQuery, "preserveNullAndEmptyArrays is true or false.")
        }
        return .unwind(path: try AggregatePath(String(path.dropFirst())), keepsEmpty: keepsEmpty, index: index)
    }

    private static func fieldName(_ value: JSON, _ stage: String) throws -> String {
        guard case .string(let name) = value else {
            throw ParseError(.invalidQuery, "\(stage) needs the name of a field.")
        }
        guard Names.isIdentifier(name) else {
            throw ParseError(.invalidKeyName, "Invalid key name: \(name.prefix(200))")
        }
        return name
    }

    /// Far more rows than any class has, and far below an overflow.
    private static let numberMax: Int64 = 1 << 40

    private static func number(_ value: JSON, _ stage: String, from least: Int64) throws -> Int {
        guard let number = value.intValue, number >= least else {
            throw ParseError(.invalidQuery, "\(stage) needs a whole number from \(least).")
        }
        return Int(min(number, numberMax))
    }
}
