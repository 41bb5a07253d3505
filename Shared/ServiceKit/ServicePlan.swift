import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ProcessKit

/// The static description of a service: its name, the classes it owns and its tables.
public struct ServicePlan: Sendable {
    /// First component of the kinds it answers, and the name of its file `<name>.sqlite`.
    public let name: String
    /// The classes defined by the service's code.
    public let classes: [ClassDefinition]
    /// Creates the rules of the service's classes, by class name. Called once, with the running service.
    public let rules: @Sendable (ServiceHost) -> [String: any ClassRules]
    /// The migrations of the service's tables; the object store adds its own.
    public let migrations: Migrations
    /// The durability of an acknowledged commit.
    public let synchronous: Synchronous
    /// Whether the service owns all classes that no code defines (only the catalog does).
    public let ownsUnknownClasses: Bool
    /// The caller whose rights apply to a client's reads; a service whose sessions have fewer rights sets this.
    public var readingCaller: @Sendable (Principal) -> Caller = { Caller($0) }
    /// Adds computed or client-specific data to a reply; nil when there is none.
    public var completion: (@Sendable (ShownAnswer, ServiceRequest, StoreReader) throws -> [UInt8])?
    /// The encryption of stored replies, for a service whose replies contain secrets.
    public var replySeal: ReplySeal?
    /// Whether each start recreates the whole database, so that a missing one is no loss.
    public var isRecreatedAtStart = false
    /// Whether a stopping replica releases the writer's lock before it finishes its requests. For a service whose work
    /// stores nothing and may itself wait for a reply of the next writer.
    public var yieldsFirst = false

    /// A plan without encrypted replies and without a completion.
    public init(
        name: String, classes: [ClassDefinition] = [], migrations: [Migration] = [], synchronous: Synchronous = .full,
        ownsUnknownClasses: Bool = false,
        rules: @escaping @Sendable (ServiceHost) -> [String: any ClassRules] = { _ in [:] }
    ) {
        self.name = name
        self.classes = classes
        self.rules = rules
        self.migrations = Migrations(name, migrations)
        self.synchronous = synchronous
        self.ownsUnknownClasses = ownsUnknownClasses
    }

    /// The caller whose rights apply to a read of the class. A session token lets its reader act as the user, so the
    /// read-only key must not read any session.
    func caller(_ principal: Principal, reading className: String) -> Caller {
        principal.readOnly && className == "_Session" ? .anonymous : readingCaller(principal)
    }

    /// Identifies the rules and tables that replicas must share to write together: the release and its migrations.
    /// Never 0.
    var edition: UInt64 {
        let parts = [satchelRelease] + Migrations.serviceKit.identifiers + migrations.identifiers
        return FNV1a.hash(parts.joined(separator: "\n").utf8) | 1
    }
}

/// The reply to a read, before it is sent.
public struct ShownAnswer: Sendable {
    /// The class of the objects.
    public let className: String
    /// The requested fields; empty for all.
    public let keys: [String]
    /// The excluded fields.
    public let excludeKeys: [String]
    /// One object, or `{"results":[…]}`.
    public let body: [UInt8]

    /// Whether the client wants the field.
    public func wants(_ field: String) -> Bool {
        (keys.isEmpty || keys.contains(field)) && !excludeKeys.contains(field)
    }

    /// The body with the given objects changed, if it contains them.
    public func body(changing objectIds: Set<String>, _ change: (inout JSON) throws -> Void) throws -> [UInt8] {
        var answer = try JSON(parsing: body)
        func isMeant(_ object: JSON) -> Bool { object["objectId"]?.stringValue.map(objectIds.contains) ?? false }
        if case .array(var objects)? = answer["results"] {
            let indexes = objects.indices.filter { isMeant(objects[$0]) }
            guard !indexes.isEmpty else { return body }
            for index in indexes { try change(&objects[index]) }
            answer["results"] = .array(objects)
        } else {
            guard isMeant(answer) else { return body }
            try change(&answer)
        }
        return answer.serialized
    }
}
