import ParseProtocol

/// A class a service knows in code. The writer creates it, or adds what is missing, before it takes work.
public struct ClassDefinition: Sendable {
    /// The class's name, for example `Product`.
    public let name: String
    /// Types of the fields that are known in advance.
    public let fields: [String: FieldType]
    /// Field lists to index, each in order.
    public let indexes: [[String]]
    /// Field lists whose values no two objects may share.
    public let uniqueIndexes: [[String]]
    /// String fields that answer `$text`.
    public let textFields: [String]
    /// Class-level permissions, which replace the stored ones at every start.
    public let permissions: ClassPermissions

    /// - Parameters:
    ///   - name: the class, for example `Product`.
    ///   - fields: types known in advance; further fields are learnt from what is saved.
    ///   - indexes: field lists to index, in order. `objectId`, `createdAt` and `updatedAt` may be part of a list;
    ///     every other field must be in `fields`.
    ///   - uniqueIndexes: like `indexes`; a save that repeats the values of another object is refused with
    ///     `ParseError.duplicateValue`. Objects that lack one of the fields never collide.
    ///   - textFields: String fields that answer `$text`, and whose literal `$regex` searches use a trigram index.
    ///   - permissions: class-level permissions. The code's permissions replace the stored ones at every start.
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

/// Fields every object has, kept in columns of their own.
enum BuiltInField: String {
    case objectId, createdAt, updatedAt
}
