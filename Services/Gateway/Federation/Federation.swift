import Foundation
import MessageBus
import Messages
import ParseProtocol

/// Presents the services' stores as one database: includes and sub-queries work within and across services.
struct Federation: Sendable {
    let services: ServiceClient
    let limitMax: Int

    private struct Fetched {
        let object: JSON
        let bytes: Int
    }

    private struct Name: Hashable {
        let className: String
        let objectId: String
    }

    /// Objects that may replace pointers in a response, counted once per occurrence: an object with a thousand pointers
    /// to itself would otherwise multiply with every level.
    private static let includedMax = 20_000
    /// Objects requested in one message (Shared/Messages/Protos/objects.proto).
    private static let fetchMax = 1000
    private static let tooMany = ParseError(.invalidQuery, "The include brings more than \(includedMax) objects.")
    /// Bytes of those objects, counted once per occurrence. The store allows as many bytes for a response without
    /// includes.
    private static let includedBytesMax = 32 << 20
    private static let tooLarge = ParseError(.invalidQuery, "The include is too large; use a smaller limit or keys.")

    /// Runs a find at the class's owner, after resolving the sub-queries in the filter. Returns the JSON of the
    /// response.
    func find(
        _ className: String, _ options: QueryOptions, _ principal: Principal, for request: ParseRequest
    ) async throws(ParseError) -> [UInt8] {
        try await found(className, options, principal, for: request).body
    }

    /// The result of `find`, with the metadata of the class's owner.
    struct Found {
        let body: [UInt8]
        /// The options that were executed: `beforeFind` may have changed them.
        let options: QueryOptions
        fileprivate let reply: ServiceReply<FindReply>?

        /// Which other principals would get the same result; nil when more than the class's owner contributed to it.
        var sharing: FindReply? {
            get throws(ParseError) {
                guard let reply else { return nil }
                return try reply.message
            }
        }
    }

    /// `find` with its metadata.
    func found(
        _ className: String, _ options: QueryOptions, _ principal: Principal, for request: ParseRequest
    ) async throws(ParseError) -> Found {
        var hooked = try await HookedRead(request.hooks, className, principal)
        let find = try await hooked?.before(options, limitMax: limitMax) ?? .init(options: options)
        let options = find.options
        if let hooked, let objects = find.objects {
            let left = try await hooked.answered(objects, keys: options.keys, excludeKeys: options.excludeKeys)
            var answer: JSON = ["results": .array(left)]
            if options.wantsCount { answer["count"] = .int(Int64(left.count)) }
            return Found(body: answer.serialized, options: options, reply: nil)
        }
        var filter = options.filter
        let hasSubQueries = SubQueries.mayOccur(in: filter)
        if hasSubQueries {
            var resolver = SubQueries(federation: self, principal: principal, request: request)
            filter = try await resolver.resolve(filter, of: className)
        }
        let reply = try await services.read(
            ServiceDirectory.calls(ofClass: className).find,
            limited: Self.message(className, options, filter: filter, hooks: request.hooks),
            needed: request.prepared?.bytesNeeded ?? 0, for: principal, in: request.call)
        let body = try reply.document
        // A query plan has no objects.
        let isOwners = hooked == nil && !hasSubQueries
        guard let hooked, !options.explains else {
            return Found(body: body, options: options, reply: isOwners ? reply : nil)
        }
        var answer = try JSON(reply: body, in: request.call)
        answer["results"] = .array(try await hooked.after(answer["results"]?.arrayValue ?? []))
        return Found(body: answer.serialized, options: options, reply: nil)
    }

    /// - Parameter filter: the options' filter without sub-queries.
    static func message(
        _ className: String, _ options: QueryOptions, filter: [UInt8], hooks: HookScope?
    ) -> FindRequest {
        FindRequest.with {
            $0.className = className
            $0.where = Data(filter)
            $0.order = options.order
            $0.limit = UInt32(clamping: options.limit)
            $0.skip = UInt32(clamping: options.skip)
            $0.count = options.wantsCount
            $0.keys = options.keys
            $0.excludeKeys = options.excludeKeys
            if let after = options.after { $0.after = after }
            $0.explain = options.explains
            // Only a name with a dot leads to another object.
            if filter.contains(text: ".") || options.order.contains(where: { $0.utf8.contains(UInt8(ascii: ".")) }) {
                $0.foreignClasses = ServiceDirectory.classes(notOf: ServiceDirectory.service(ofClass: className))
                $0.hookedClasses = hooks?.registry.last?.classes(with: .beforeFind) ?? []
            }
        }
    }

    /// The objects with the tree's pointers replaced, level by level: one request per owner and level for each thousand
    /// objects.
    func expand(
        _ objects: [JSON], _ tree: IncludeTree, _ principal: Principal, for request: ParseRequest
    ) async throws(ParseError) -> [JSON] {
        var fetched: [Name: Fetched] = [:]
        var bytes = 0
        var level: [(object: JSON, tree: IncludeTree)] = objects.map { ($0, tree) }
        var included = 0
        while !level.isEmpty {
            var targets: [(name: Name, tree: IncludeTree)] = []
            for (object, tree) in level {
                targets += Self.targets(in: object, tree)
                guard included + targets.count <= Self.includedMax else { throw Self.tooMany }
            }
            included += targets.count
            let wanted = Set(targets.map(\.name)).subtracting(fetched.keys)
            fetched.merge(try await fetch(wanted, principal, for: request)) { _, new in new }
            for target in targets { bytes += fetched[target.name]?.bytes ?? 0 }
            guard bytes <= Self.includedBytesMax else { throw Self.tooLarge }
            level = targets.compactMap { name, tree in
                tree.isEmpty ? nil : fetched[name].map { (object: $0.object, tree: tree) }
            }
        }
        return objects.map { Self.replacePointers(in: $0, tree, fetched) }
    }

    /// The pointers that a tree reaches in an object, including those in embedded objects and lists.
    private static func targets(in object: JSON, _ tree: IncludeTree) -> [(name: Name, tree: IncludeTree)] {
        var targets: [(name: Name, tree: IncludeTree)] = []
        func add(_ value: JSON, _ tree: IncludeTree) {
            switch value {
            case .array(let elements): for element in elements { add(element, tree) }
            case .object:
                if let target = value.pointerTarget {
                    targets.append((Name(className: target.className, objectId: target.objectId), tree))
                } else if !tree.isEmpty, value.wireType == nil {
                    addFields(of: value, tree)
                }
            default: break
            }
        }
        func addFields(of object: JSON, _ tree: IncludeTree) {
            for (field, subtree) in tree.branches(of: object) {
                if let value = object[field] { add(value, subtree) }
            }
        }
        addFields(of: object, tree)
        return targets
    }

    /// Replaces pointers by their objects. When an object is missing or not readable, its field is removed, or its
    /// array element is left out.
    private static func replacePointers(in object: JSON, _ tree: IncludeTree, _ fetched: [Name: Fetched]) -> JSON {
        var object = object
        for (field, subtree) in tree.branches(of: object) {
            if let value = object[field] { object[field] = replaced(value, subtree, fetched) }
        }
        return object
    }

    private static func replaced(_ value: JSON, _ tree: IncludeTree, _ fetched: [Name: Fetched]) -> JSON? {
        switch value {
        case .array(let elements): return .array(elements.compactMap { replaced($0, tree, fetched) })
        case .object:
            if let (className, objectId) = value.pointerTarget {
                guard let target = fetched[Name(className: className, objectId: objectId)]?.object else { return nil }
                var object = replacePointers(in: tree.select(target), tree, fetched)
                object["__type"] = "Object"
                object["className"] = .string(className)
                return object
            }
            guard !tree.isEmpty, value.wireType == nil else { return value }
            return replacePointers(in: value, tree, fetched)
        default: return value
        }
    }

    private func fetch(
        _ names: Set<Name>, _ principal: Principal, for request: ParseRequest
    ) async throws(ParseError) -> [Name: Fetched] {
        let allowed = names.filter { Names.isClassName($0.className) && Names.isObjectId($0.objectId) }
        let byOwner = Dictionary(grouping: allowed) { ServiceDirectory.service(ofClass: $0.className) }
        let results = await withTaskGroup(of: Result<[Name: Fetched], ParseError>.self) { group in
            for (owner, names) in byOwner {
                for start in stride(from: 0, to: names.count, by: Self.fetchMax) {
                    let part = Array(names[start..<min(start + Self.fetchMax, names.count)])
                    group.addTask {
                        do throws(ParseError) {
                            return .success(try await fetch(part, from: owner, principal, for: request))
                        } catch {
                            return .failure(error)
                        }
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
        var fetched: [Name: Fetched] = [:]
        for result in results { fetched.merge(try result.get()) { _, new in new } }
        return fetched
    }

    private func fetch(
        _ names: [Name], from owner: String, _ principal: Principal, for request: ParseRequest
    ) async throws(ParseError) -> [Name: Fetched] {
        let idsByClass = Dictionary(grouping: names, by: \.className).mapValues { $0.map(\.objectId) }
        var hooked: [(className: String, read: HookedRead, restriction: HookedRead.Restriction)] = []
        for (className, ids) in idsByClass {
            guard var read = try await HookedRead(request.hooks, className, principal) else { continue }
            let restriction = try await read.before(ids: ids)
            hooked.append((className, read, restriction))
        }
        let message = FetchRequest.with {
            $0.wanted = idsByClass.map { className, ids in
                .with {
                    $0.className = className
                    $0.objectIds = ids
                }
            }
        }
        let reply = try await services.read(
            ObjectCalls(of: owner).fetch, limited: message, for: principal, in: request.call)
        let found = try reply.message.found
        guard found.count == reply.documents.count else { throw .internalError }
        var fetched: [Name: Fetched] = [:]
        for (name, document) in zip(found, reply.documents) {
            fetched[Name(className: name.className, objectId: name.objectID)] = Fetched(
                object: try JSON(reply: document, in: request.call), bytes: document.count)
        }
        for (className, read, restriction) in hooked {
            let own = fetched.filter { $0.key.className == className }
            let objects = Dictionary(uniqueKeysWithValues: own.map { ($0.key.objectId, $0.value.object) })
            for name in own.keys { fetched[name] = nil }
            for (objectId, object) in try await read.restricted(objects, restriction) {
                fetched[Name(className: className, objectId: objectId)] = Fetched(
                    object: object, bytes: object.serialized.count)
            }
        }
        return fetched
    }
}
