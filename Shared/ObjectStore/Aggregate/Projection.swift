import ParseProtocol

/// The fields that `$project`, `$addFields` and `$unset` keep, drop or compute, as a tree of their dotted names.
struct Projection {
    private indirect enum Member {
        case keep
        case drop
        case compute(AggregateExpression)
        case nested([String: Member])
    }

    private enum Mode { case only, without, adding }

    private let mode: Mode
    private var members: [String: Member] = [:]

    /// Limit of nested objects in a specification; dotted names count.
    private static let depthMax = 16

    /// - Throws: `.invalidQuery` (102) for an invalid projection, `.invalidKeyName` (105) for an invalid name.
    init(project specification: JSON) throws {
        guard case .object(let fields) = specification, !fields.isEmpty else {
            throw ParseError(.invalidQuery, "$project needs an object with at least one field.")
        }
        var tree: [String: Member] = [:]
        for (name, value) in fields {
            try Projection.insert(try Projection.member(value, areFlags: true, 1), at: name, into: &tree)
        }
        var kinds: Set<Bool> = []
        for (name, member) in tree {
            if name == "_id", case .drop = member { continue }
            Projection.collect(member, &kinds)
        }
        guard kinds.count <= 1 else {
            throw ParseError(.invalidQuery, "A $project either keeps fields or drops fields.")
        }
        // A projection that drops only the id keeps all other fields.
        mode = kinds.contains(true) ? .only : .without
        members = tree
    }

    init(addFields specification: JSON) throws {
        guard case .object(let fields) = specification, !fields.isEmpty else {
            throw ParseError(.invalidQuery, "$addFields needs an object with at least one field.")
        }
        for (name, value) in fields {
            try Projection.insert(try Projection.member(value, areFlags: false, 1), at: name, into: &members)
        }
        mode = .adding
    }

    init(unset specification: JSON) throws {
        let names = specification.arrayValue ?? [specification]
        guard !names.isEmpty else { throw ParseError(.invalidQuery, "$unset needs names.") }
        for name in names {
            guard case .string(let name) = name else { throw ParseError(.invalidQuery, "$unset needs names.") }
            try Projection.insert(.drop, at: name, into: &members)
        }
        mode = .without
    }

    /// Collects whether a member keeps (true) or drops (false) fields.
    private static func collect(_ member: Member, _ kinds: inout Set<Bool>) {
        switch member {
        case .keep, .compute: kinds.insert(true)
        case .drop: kinds.insert(false)
        case .nested(let members): for member in members.values { collect(member, &kinds) }
        }
    }

    private static func member(_ value: JSON, areFlags: Bool, _ depth: Int) throws -> Member {
        guard depth <= depthMax else { throw ParseError(.invalidQuery, "The fields are nested too deeply.") }
        switch value {
        case .bool(let flag) where areFlags: return flag ? .keep : .drop
        case .int(let number) where areFlags: return number != 0 ? .keep : .drop
        case .double(let number) where areFlags: return number != 0 ? .keep : .drop
        case .object(let fields)
        where !fields.isEmpty && fields["__type"] == nil && !fields.keys.contains { $0.hasPrefix("$") }:
            var tree: [String: Member] = [:]
            for (name, value) in fields {
                try insert(try member(value, areFlags: areFlags, depth + 1), nested: name, into: &tree)
            }
            return .nested(tree)
        default: return .compute(try AggregateExpression(value))
        }
    }

    private static func insert(_ member: Member, at name: String, into tree: inout [String: Member]) throws {
        try insert(member, try AggregatePath(name).components[...], into: &tree)
    }

    private static func insert(_ member: Member, nested name: String, into tree: inout [String: Member]) throws {
        try insert(member, try FieldPath(name).components[...], into: &tree)
    }

    private static func insert(
        _ member: Member, _ components: ArraySlice<String>, into tree: inout [String: Member]
    ) throws {
        guard let first = components.first else { return }
        if components.count == 1, tree[first] == nil {
            tree[first] = member
            return
        }
        guard components.count > 1 else { throw collision(first) }
        var nested: [String: Member] = [:]
        switch tree[first] {
        case nil: break
        case .nested(let members)?: nested = members
        default: throw collision(first)
        }
        try insert(member, components.dropFirst(), into: &nested)
        tree[first] = .nested(nested)
    }

    private static func collision(_ name: String) -> ParseError {
        ParseError(.invalidQuery, "The field \(name) is named twice.")
    }

    // MARK: Evaluation

    func apply(_ document: JSON) throws -> JSON {
        switch mode {
        case .only:
            guard case .object(var result) = try Projection.only(members, of: document, root: document) else {
                return document
            }
            if members["_id"] == nil { result["_id"] = document["_id"] }
            return .object(result)
        case .without: return Projection.without(members, of: document)
        case .adding: return try Projection.adding(members, to: document, root: document)
        }
    }

    private static func only(_ members: [String: Member], of value: JSON, root: JSON) throws -> JSON? {
        if case .array(let elements) = value {
            return .array(try elements.compactMap { try only(members, of: $0, root: root) })
        }
        guard case .object(let fields) = value else { return nil }
        var result: [String: JSON] = [:]
        for (name, member) in members {
            switch member {
            case .keep: result[name] = fields[name]
            case .drop: break
            case .compute(let expression): result[name] = try expression.value(in: root)
            case .nested(let nested):
                // Computed fields appear even if the enclosing object was missing.
                result[name] = try only(nested, of: fields[name] ?? [:], root: root).flatMap {
                    fields[name] == nil && $0 == [:] ? nil : $0
                }
            }
        }
        return .object(result)
    }

    private static func without(_ members: [String: Member], of value: JSON) -> JSON {
        switch value {
        case .array(let elements): return .array(elements.map { without(members, of: $0) })
        case .object(var fields):
            for (name, member) in members {
                if case .nested(let nested) = member {
                    fields[name] = fields[name].map { without(nested, of: $0) }
                } else {
                    fields[name] = nil
                }
            }
            return .object(fields)
        default: return value
        }
    }

    private static func adding(_ members: [String: Member], to value: JSON, root: JSON) throws -> JSON {
        if case .array(let elements) = value {
            return .array(try elements.map { try adding(members, to: $0, root: root) })
        }
        var fields = value.objectValue ?? [:]
        for (name, member) in members {
            switch member {
            case .compute(let expression):
                if let new = try expression.value(in: root) { fields[name] = new }
            case .nested(let nested): fields[name] = try adding(nested, to: fields[name] ?? [:], root: root)
            case .keep, .drop: break
            }
        }
        return .object(fields)
    }

    /// The fields that the projection reads; nil for all.
    var roots: Set<String>? {
        guard mode == .only else { return nil }
        var all: Set<String> = ["objectId"]
        for (name, member) in members {
            all.insert(name == "_id" ? "objectId" : name)
            guard let roots = Projection.roots(of: member) else { return nil }
            all.formUnion(roots)
        }
        return all
    }

    private static func roots(of member: Member) -> Set<String>? {
        switch member {
        case .keep, .drop: return []
        case .compute(let expression): return expression.roots
        case .nested(let members):
            var all: Set<String> = []
            for member in members.values {
                guard let roots = roots(of: member) else { return nil }
                all.formUnion(roots)
            }
            return all
        }
    }
}
