import ParseProtocol

/// Decides, outside the store, whether clients may add to the classes of a database. Called on the writer's thread,
/// after the permission checks and before anything is stored; also for operators and Satchel itself.
public protocol SchemaQuota: Sendable {
    /// - Parameter count: the number of classes before, including the classes that the service defines in code.
    /// - Throws: `ParseError` to refuse.
    func addClass(_ name: String, count: Int, by caller: Caller) throws

    /// - Throws: `ParseError` to refuse.
    func addFields(_ fields: AddedFields, by caller: Caller) throws

    /// The same limits for a job that is retried: its additions were counted the first time.
    var uncounted: any SchemaQuota { get }
}

extension SchemaQuota {
    /// Itself, for an allowance that counts nothing.
    public var uncounted: any SchemaQuota { self }
}

/// The fields that one save would add to a class.
public struct AddedFields: Sendable {
    /// The class that the object is saved in.
    public let className: String
    /// Whether the service's own code defines the class, as `_User`, so that all clients share its objects.
    public let isBuiltIn: Bool
    /// The number of fields that the save adds, relations included.
    public let count: Int
    /// The number of relations among them; every object of the class shows these.
    public let relations: Int
    /// The number of earlier fields that the service's code does not define.
    public let learnt: Int
    /// The number of relations among those.
    public let learntRelations: Int

    /// The fields of one save; counts are at least 0.
    public init(className: String, isBuiltIn: Bool, count: Int, relations: Int, learnt: Int, learntRelations: Int) {
        self.className = className
        self.isBuiltIn = isBuiltIn
        self.count = count
        self.relations = relations
        self.learnt = learnt
        self.learntRelations = learntRelations
    }
}

/// Allows everything within the permissions and the database's own limits.
public struct UnlimitedSchema: SchemaQuota {
    /// An allowance without additional limits.
    public init() {}
    /// Allows every class.
    public func addClass(_ name: String, count: Int, by caller: Caller) {}
    /// Allows every field.
    public func addFields(_ fields: AddedFields, by caller: Caller) {}
}

extension ObjectDraft {
    /// The new fields, and the number of fields that clients added before.
    func addedFields(definition: ClassDefinition?) -> AddedFields {
        let added = Set(newFields)
        let learnt = info.fields.keys.filter { !added.contains($0) && definition?.fields[$0] == nil }
        func relations(_ fields: some Sequence<String>) -> Int {
            fields.count { if case .relation? = info.fields[$0] { true } else { false } }
        }
        return AddedFields(
            className: info.name, isBuiltIn: definition != nil, count: newFields.count,
            relations: relations(newFields), learnt: learnt.count, learntRelations: relations(learnt))
    }
}
