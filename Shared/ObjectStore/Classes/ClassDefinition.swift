import ParseProtocol

/// A class that a service defines in code. Before the writer accepts jobs, it creates the class or adds missing parts.
public struct ClassDefinition: Sendable {
    /// The class's name, for example `Product`.
    public let name: String
    /// Types of the fields that the definition declares.
    public let fields: [String: FieldType]
    /// Field lists to index; the fields of an index have this order.
    public let indexes: [[String]]
    /// Field lists whose values must be unique among the objects.
    public let uniqueIndexes: [[String]]
    /// String fields that support `$text`.
    public let textFields: [String]
    /// Class-level permissions. They replace the stored ones at every start.
    public let permissions: ClassPermissions

    /// - Parameters:
    ///   - name: the class, for example `Product`.
    ///   - fields: declared types. Saves add further fields and their types.
    ///   - indexes: field lists to index, in order. `objectId`, `createdAt` and `updatedAt` may be part of a list;
    ///     every other field must be in `fields`.
    ///   - uniqueIndexes: like `indexes`; a save that repeats the values of another object is refused with
    ///     `ParseError.duplicateValue`. Objects that lack one of the fields never collide.
    ///   - textFields: String fields that support `$text`, and whose literal `$regex` searches use an index.
    ///   - permissions: class-level permissions. They replace the stored ones at every start.
    public init(
        _ name: String, fields: [String: FieldType] = [:], indexes: [[String]] = [], uniqueIndexes: [[String]] = [],
        textFields: [String] = [], permissions: ClassPermissions = .open
    ) {
        precondition(
            (indexes + uniqueIndexes).joined().allSatisfy { fields[$0] != nil || BuiltInField(rawValue: $0) != nil },
            "An index of class \(name) uses a field without a declared type.")
        precondition(
            textFields.allSatisfy { fields[$0] == .string }, "A text field of class \(name) is not declared as String.")
        precondition(
            fields.values.count { $0 == .geoPoint } <= 1, "Class \(name) has more than one GeoPoint field.")
        precondition(fields.keys.allSatisfy(Names.isFieldName), "A field of class \(name) has a reserved name.")
        self.name = name
        self.fields = fields
        self.indexes = indexes
        self.uniqueIndexes = uniqueIndexes
        self.textFields = textFields
        self.permissions = permissions
    }
}

/// Fields that every object has, each stored in its own column.
enum BuiltInField: String {
    case objectId, createdAt, updatedAt
}
