import ObjectStore
import ParseProtocol

/// The quotas for schema changes by clients. An app adds classes and fields while it is developed, but no client may
/// exhaust the shared schema.
extension Quotas {
    /// New fields, and relations among them, that one request may add to a class of Satchel. A sign-up with a profile
    /// adds about a dozen.
    private static let fieldsAtOnceMax = 24
    private static let relationsAtOnceMax = 2
    /// Weight of a relation: it appears in every object of its class, and adding it rewrites all of them.
    private static let relationWeight = 10

    /// Charges a client's new class.
    /// - Throws: `.operationForbidden` (119) when clients cannot add classes or there are too many,
    ///   `.requestLimitExceeded` (155) when the quota is exhausted, `.serviceUnavailable` (2) when the disk is nearly
    ///   full.
    public func addClass(_ name: String, count: Int, by caller: Caller) throws {
        guard !caller.isOperator else { return }
        guard !settings.isSchemaClosed else {
            throw ParseError(.operationForbidden, "This user is not allowed to access non-existent class: \(name)")
        }
        guard admits(count, below: .classesMax, by: caller) else {
            throw ParseError(
                .operationForbidden,
                "There are too many classes for a client to add another one; the master key can.")
        }
        try requireDiskSpace(for: caller)
        try take(of: .classes, by: caller)
    }

    /// Charges a client's new fields.
    /// - Throws: `.operationForbidden` (119) when clients cannot add fields, `.objectTooLarge` (116) when the class
    ///   would have too many, `.requestLimitExceeded` (155) when the quota is exhausted.
    public func addFields(_ fields: AddedFields, by caller: Caller) throws {
        guard !caller.isOperator else { return }
        let name = fields.className
        guard !settings.isSchemaClosed else {
            throw ParseError(.operationForbidden, "Permission denied for action addField on class \(name).")
        }
        let fieldsMax = settings.ceiling(fields.isBuiltIn ? .sharedFieldsMax : .fieldsMax)
        guard fields.learnt + fields.count <= fieldsMax else {
            throw ParseError(.objectTooLarge, "Clients can add at most \(fieldsMax) fields to \(name).")
        }
        guard fields.isBuiltIn else { return try take(fields.count, of: .fields, by: caller) }
        let relationsMax = settings.ceiling(.sharedRelationsMax)
        guard fields.relations == 0 || fields.learntRelations + fields.relations <= relationsMax else {
            throw ParseError(.objectTooLarge, "Clients can add at most \(relationsMax) relation fields to \(name).")
        }
        guard fields.count <= Self.fieldsAtOnceMax, fields.relations <= Self.relationsAtOnceMax else {
            throw ParseError(
                .objectTooLarge,
                """
                One request can add at most \(Self.fieldsAtOnceMax) fields to \(name), and \(Self.relationsAtOnceMax) \
                relations.
                """)
        }
        try take(fields.count + fields.relations * (Self.relationWeight - 1), of: .sharedFields, by: caller)
    }
}
