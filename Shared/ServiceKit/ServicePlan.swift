import Messages
import ObjectStore
import ParseProtocol

/// What a service is before it runs: its name, the classes it owns and the tables of its own.
public struct ServicePlan: Sendable {
    /// First component of the kinds it answers, and of its file `<name>.sqlite`.
    public let name: String
    public let classes: [ClassDefinition]
    /// Rules for the classes that are more than data, by class name.
    public let rules: [String: any ClassRules]
    /// `CREATE TABLE IF NOT EXISTS` statements for tables beside the object store.
    public let tables: [String]
    public let synchronous: Synchronous
    /// Whether it is the owner of classes that nobody defined (only the catalog is).
    public let ownsUnknownClasses: Bool
    /// Whose rights a reading client has; a service with sessions of fewer rights says so here.
    public var readingCaller: @Sendable (Principal) -> Caller = { Caller($0) }

    public init(
        name: String, classes: [ClassDefinition] = [], rules: [String: any ClassRules] = [:], tables: [String] = [],
        synchronous: Synchronous = .full, ownsUnknownClasses: Bool = false
    ) {
        self.name = name
        self.classes = classes
        self.rules = rules
        self.tables = tables
        self.synchronous = synchronous
        self.ownsUnknownClasses = ownsUnknownClasses
    }
}
