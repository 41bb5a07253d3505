import ParseProtocol

/// Reads objects on behalf of a caller, whose rights are applied in SQL.
///
/// Every function throws `ParseError` for errors that a client can cause: `.operationForbidden` (119) and
/// `.objectNotFound` (101) for class-level permissions, `.invalidQuery` (102), `.invalidKeyName` (105) and
/// `.invalidJSON` (107) for invalid queries, `.timeout` (124) when a read takes longer than the reader's time limit.
/// All other errors are `StoreError`.
public protocol ObjectReading {
    /// The engine's SQL differences, for a service's own tables (docs/internals/sql.md).
    var dialect: Dialect { get }

    /// One object as JSON text.
    /// - Throws: `ParseError.objectNotFound` for an object that is missing or unreadable by the caller.
    func get(
        _ className: String, _ objectId: String, keys: [String], excludeKeys: [String], caller: Caller
    ) throws -> [UInt8]

    /// The objects with these ids, in their order; missing and unreadable ones are skipped.
    /// - Throws: `.invalidQuery` (102) for more than 32 MiB of documents.
    func fetch(
        _ className: String, ids: [String], keys: [String], caller: Caller
    ) throws -> [(objectId: String, document: [UInt8])]

    /// A page of objects.
    /// - Throws: `.invalidQuery` (102) for more than 32 MiB of documents.
    func find(_ query: Query, caller: Caller) throws -> FoundPage

    /// The objects that `find` returns, decoded.
    func documents(_ query: Query, caller: Caller) throws -> [JSON]

    /// The number of matches, ignoring limit and skip.
    func count(_ query: Query, caller: Caller) throws -> Int

    /// Runs a SELECT on the service's own tables. The SQL must come from code; values are bound to `?`.
    func rows(_ sql: String, _ arguments: [SQLValue]) throws -> [SQLRow]
}

extension ObjectReading {
    /// One object with all fields that the caller may see, as JSON text.
    /// - Throws: `.objectNotFound` (101) for an object that is missing or unreadable by the caller.
    public func get(_ className: String, _ objectId: String, caller: Caller) throws -> [UInt8] {
        try get(className, objectId, keys: [], excludeKeys: [], caller: caller)
    }

    /// The rows of a SELECT without arguments on the service's own tables.
    /// - Throws: `StoreError`.
    public func rows(_ sql: String) throws -> [SQLRow] { try rows(sql, []) }
}
