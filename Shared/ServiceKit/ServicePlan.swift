import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ProcessKit

/// The plan of a service before it runs: its name, the classes it owns and the tables of its own.
public struct ServicePlan: Sendable {
    /// First component of the kinds it answers, and of its file `<name>.sqlite`.
    public let name: String
    /// The classes that the service's code defines.
    public let classes: [ClassDefinition]
    /// Makes the rules for the classes that are more than data, by class name, with what they need of the running
    /// service. Called once.
    public let rules: @Sendable (ServiceHost) -> [String: any ClassRules]
    /// The migrations of its tables beside the object store.
    public let migrations: Migrations
    /// The durability of a commit at the moment when it is reported as done.
    public let synchronous: Synchronous
    /// Whether it is the owner of classes that nobody defined (only the catalog is).
    public let ownsUnknownClasses: Bool
    /// The caller with whose rights a client reads; a service with sessions of fewer rights says so here.
    public var readingCaller: @Sendable (Principal) -> Caller = { Caller($0) }
    /// Adds to an answer what only the asking client may see and what is not stored as it is shown; nil when there is
    /// nothing of the kind.
    public var completion: (@Sendable (ShownAnswer, ServiceRequest, StoreReader) throws -> [UInt8])?
    /// The encryption of kept answers, in a service whose answers hold secrets.
    public var replySeal: ReplySeal?
    /// Whether a replica that stops gives the writer's lock to the next before it finishes what it has: in a service
    /// whose work stores nothing, and may itself wait for what the next one answers.
    public var yieldsFirst = false

    /// A plan without sealed replies, and with answers as they are stored.
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

    /// Names the rules and tables by which replicas write together: the release and its migrations. Never 0.
    var edition: UInt64 {
        let parts = [satchelRelease] + Migrations.serviceKit.identifiers + migrations.identifiers
        return FNV1a.hash(parts.joined(separator: "\n").utf8) | 1
    }
}

/// The answer that a read is about to give.
public struct ShownAnswer: Sendable {
    /// The class of the objects.
    public let className: String
    /// The fields that were asked for; empty for all.
    public let keys: [String]
    /// The fields that were not wanted.
    public let excludeKeys: [String]
    /// One object, or `{"results":[…]}`.
    public let body: [UInt8]

    /// Whether the client wants the field.
    public func wants(_ field: String) -> Bool {
        (keys.isEmpty || keys.contains(field)) && !excludeKeys.contains(field)
    }

    /// The body with some objects changed, as far as they are there.
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
