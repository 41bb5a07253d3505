import ParseProtocol

/// Reading objects, on behalf of a caller whose rights are applied in SQL.
///
/// Every function throws `ParseError` for what a client can cause: `.operationForbidden` (119) and `.objectNotFound`
/// (101) for class-level permissions, `.invalidQuery` (102), `.invalidKeyName` (105) and `.invalidJSON` (107) for bad
/// queries, `.timeout` (124) when a read takes longer than the reader's time limit. Everything else is `StoreError`.
public protocol ObjectReading {
    /// How the engine's SQL differs, for a service's own tables (docs/sql.md).
    var dialect: Dialect { get }

    /// One object as JSON text.
    /// - Throws: `ParseError.objectNotFound` for a missing object and for one the caller may not read.
    func get(
        _ className: String, _ objectId: String, keys: [String], excludeKeys: [String], caller: Caller
    ) throws -> [UInt8]

    /// The objects with these ids, in their order; missing and unreadable ones are left out.
    /// - Throws: `.invalidQuery` (102) for more than 32 MiB of documents.
    func fetch(
        _ className: String, ids: [String], keys: [String], caller: Caller
    ) throws -> [(objectId: String, document: [UInt8])]

    /// A page of objects.
    /// - Throws: `.invalidQuery` (102) for more than 32 MiB of documents.
    func find(_ query: Query, caller: Caller) throws -> FoundPage

    /// The objects that `find` finds, decoded.
    func documents(_ query: Query, caller: Caller) throws -> [JSON]

    /// The number of matches; limit and skip do not count.
    func count(_ query: Query, caller: Caller) throws -> Int

    /// Runs a SELECT on the service's own tables. The SQL comes from code only; values are bound to `?`.
    func rows(_ sql: String, _ arguments: [SQLValue]) throws -> [SQLRow]
}

extension ObjectReading {
    /// One object with all fields that the caller may see, as JSON text.
    /// - Throws: `.objectNotFound` (101) for a missing object and for one the caller may not read.
    public func get(_ className: String, _ objectId: String, caller: Caller) throws -> [UInt8] {
        try get(className, objectId, keys: [], excludeKeys: [], caller: caller)
    }

    /// The rows of a SELECT without arguments on the service's own tables.
    /// - Throws: `StoreError`.
    public func rows(_ sql: String) throws -> [SQLRow] { try rows(sql, []) }
}
