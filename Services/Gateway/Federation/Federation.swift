import Foundation
import MessageBus
import Messages
import ParseProtocol

/// Makes the services' stores look like one database: includes and sub-queries, within and across services.
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

    /// Objects an answer may hold in place of pointers, each counted as often as it appears: an object that points to
    /// itself a thousand times would otherwise multiply with every level.
    private static let includedMax = 20_000
    /// Objects asked for in one message (Shared/Messages/Protos/objects.proto).
    private static let fetchMax = 1000
    private static let tooMany = ParseError(.invalidQuery, "The include brings more than \(includedMax) objects.")
    /// Bytes of those objects, again counted as often as they appear: what the store allows an answer without includes.
    private static let includedBytesMax = 32 << 20
    private static let tooLarge = ParseError(.invalidQuery, "The include is too large; use a smaller limit or keys.")

    /// A find at the class's owner; sub-queries in the filter are answered first. Returns the JSON of the answer.
    func find(
        _ className: String, _ options: QueryOptions, _ principal: Principal, for request: ParseRequest
    ) async throws(ParseError) -> [UInt8] {
        try await found(className, options, principal, for: request).body
    }

    /// The answer of `find`, with what the class's owner says of it.
    struct Found {
        let body: [UInt8]
        fileprivate let reply: ServiceReply<FindReply>?

        /// Who else would get the same; nil where more than the class's owner had a part in the answer.
        var sharing: FindReply? {
            get throws(ParseError) {
                guard let reply else { return nil }
                return try reply.message
            }
        }
    }

    /// As `find`.
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
            return Found(body: answer.serialized, reply: nil)
        }
        var filter = options.filter
        let hasSubQueries = SubQueries.mayOccur(in: filter)
        if hasSubQueries {
            var resolver = SubQueries(federation: self, principal: principal, request: request)
            filter = try await resolver.resolve(filter, of: className)
        }
        let reply = try await services.read(
            ServiceDirectory.calls(ofClass: className).find,
            inRoom: Self.message(className, options, filter: filter, hooks: request.hooks),
            needed: request.looked?.bytesNeeded ?? 0, for: principal, trace: request.requestId)
        let body = try reply.document
        // A plan has no objects.
        let isOwners = hooked == nil && !hasSubQueries
        guard let hooked, !options.explains else { return Found(body: body, reply: isOwners ? reply : nil) }
        var answer = try JSON(reply: body)
        answer["results"] = .array(try await hooked.after(answer["results"]?.arrayValue ?? []))
        return Found(body: answer.serialized, reply: nil)
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

    /// The objects with the tree's pointers replaced, level by level: one request per owner and level (one for each
    /// thousand objects).
    func expand(
        _ objects: [JSON], _ tree: IncludeTree, _ principal: Principal, for request: ParseRequest
    ) async throws(ParseError) -> [JSON] {
        var fetched: [Name: Fetched] = [:]
        var bytes = 0
        var level: [(object: JSON, tree: IncludeTree)] = objects.map { ($0, tree) }
        var included = 0
        while !level.isEmpty {
            var targetsOfLevel: [Name] = []
            for (object, tree) in level {
                for (field, _) in tree.branches(of: object) {
                    let targets = Self.targets(of: object[field])
                    included += targets.count
                    guard included <= Self.includedMax else { throw Self.tooMany }
                    targetsOfLevel += targets
                }
            }
            let wanted = Set(targetsOfLevel).subtracting(fetched.keys)
            fetched.merge(try await fetch(wanted, principal, for: request)) { _, new in new }
            for name in targetsOfLevel { bytes += fetched[name]?.bytes ?? 0 }
            guard bytes <= Self.includedBytesMax else { throw Self.tooLarge }
            level = level.flatMap { object, tree in
                tree.branches(of: object).filter { !$0.tree.isEmpty }.flatMap { field, subtree in
                    Self.targets(of: object[field]).compactMap { fetched[$0] }.map { ($0.object, subtree) }
                }
            }
        }
        return objects.map { Self.replacePointers(in: $0, tree, fetched) }
    }

    private static func targets(of value: JSON?) -> [Name] {
        if let target = value?.pointerTarget { return [Name(className: target.className, objectId: target.objectId)] }
        return (value?.arrayValue ?? []).compactMap { element in
            element.pointerTarget.map { Name(className: $0.className, objectId: $0.objectId) }
        }
    }

    /// Pointers whose object is missing or may not be read: the field is dropped, an array element is left out.
    private static func replacePointers(in object: JSON, _ tree: IncludeTree, _ fetched: [Name: Fetched]) -> JSON {
        var object = object
        func replacement(_ pointer: JSON, _ subtree: IncludeTree) -> JSON? {
            guard let name = targets(of: pointer).first, var target = fetched[name]?.object else { return nil }
            target = subtree.select(replacePointers(in: target, subtree, fetched))
            target["__type"] = "Object"
            target["className"] = .string(name.className)
            return target
        }
        for (field, subtree) in tree.branches(of: object) {
            guard let value = object[field] else { continue }
            if case .array(let elements) = value {
                object[field] = .array(elements.compactMap { $0.pointerTarget == nil ? $0 : replacement($0, subtree) })
            } else if value.pointerTarget != nil {
                object[field] = replacement(value, subtree)
            }
        }
        return object
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
            let restriction = try await read.before(ids: ids, isGet: false)
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
            ObjectCalls(of: owner).fetch, inRoom: message, for: principal, trace: request.requestId)
        let found = try reply.message.found
        guard found.count == reply.documents.count else { throw .internalError }
        var fetched: [Name: Fetched] = [:]
        for (name, document) in zip(found, reply.documents) {
            fetched[Name(className: name.className, objectId: name.objectID)] = Fetched(
                object: try JSON(reply: document), bytes: document.count)
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
