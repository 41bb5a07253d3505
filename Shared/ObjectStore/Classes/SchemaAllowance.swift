import ParseProtocol

/// The allowance of clients to add to the classes of a file, which is decided outside the store. It is asked on the
/// writer's thread, after permissions and before anything is stored; operators and Satchel itself are asked about too.
public protocol SchemaAllowance: Sendable {
    /// - Parameter count: classes of the file before, those of the service's own code included.
    /// - Throws: `ParseError` to refuse.
    func addClass(_ name: String, count: Int, by caller: Caller) throws

    /// - Throws: `ParseError` to refuse.
    func addFields(_ fields: AddedFields, by caller: Caller) throws

    /// The same bounds for a job that is done again: what it adds was counted the first time.
    var uncounted: any SchemaAllowance { get }
}

extension SchemaAllowance {
    /// Itself, for what counts nothing.
    public var uncounted: any SchemaAllowance { self }
}

/// The fields that one save would add to a class.
public struct AddedFields: Sendable {
    /// The class that the object is saved in.
    public let className: String
    /// Whether the service's own code defines the class, so that its objects are everybody's, such as `_User`.
    public let isBuiltIn: Bool
    /// Fields the save adds, relations included.
    public let count: Int
    /// Relations among them, which every object of the class shows.
    public let relations: Int
    /// Fields of the class before that the service's code does not define.
    public let learnt: Int
    /// Relations among those.
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

/// Everybody may add what permissions and the file's own bounds allow.
public struct OpenSchema: SchemaAllowance {
    /// An allowance without bounds of its own.
    public init() {}
    /// Allows every class.
    public func addClass(_ name: String, count: Int, by caller: Caller) {}
    /// Allows every field.
    public func addFields(_ fields: AddedFields, by caller: Caller) {}
}

extension ObjectDraft {
    /// The new fields, with what the class had learnt before.
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
