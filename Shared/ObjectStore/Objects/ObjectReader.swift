import ParseProtocol

/// Reads objects over one connection for a caller, whose rights are applied in SQL. The base class of `StoreReader`
/// and `StoreTransaction`.
///
/// Every function throws `ParseError` for errors that a client can cause: `.operationForbidden` (119) and
/// `.objectNotFound` (101) for class-level permissions, `.invalidQuery` (102), `.invalidKeyName` (105) and
/// `.invalidJSON` (107) for invalid queries, `.timeout` (124) when a read takes longer than `timeLimit`. All other
/// errors are `StoreError`.
public class ObjectReader {
    let connection: any StoreConnection
    var schema: Schema {
        didSet {
            guard schema.generation != oldValue.generation else { return }
            queries = [:]
            singles = [:]
        }
    }
    /// The time limit of one call, which then fails with `.timeout` (124).
    public var timeLimit: Duration = .seconds(4)

    /// The log of costly queries; nil where no component reads it.
    var shapes: ShapeLog?
    /// Whether pages get an `ResponseSharing`.
    var reportsSharing = true

    /// Compiled queries by their exact text. A shop repeats the same few hundred.
    var queries: [CompiledQuery.Key: CompiledQuery] = [:]
    static let queriesMax = 512
    /// Limit of the bytes of documents in one response, 32 MiB. Documents have up to 128 KB, and pages have many rows.
    static let answerBytesMax = 33_554_432
    /// Bytes of a response between two checks of the time limit.
    static let bytesPerCheck = 65_536
    static let answerTooLarge = ParseError(
        .invalidQuery, "The answer is too large; use a smaller limit or keys.")
    /// A longer condition is not cached, so that the cache stays small.
    static let cachedBytesMax = 2048

    init(connection: any StoreConnection, schema: Schema) {
        self.connection = connection
        self.schema = schema
    }

    /// A reused buffer for pages with a small size limit; at most 4 MiB.
    var pageDraft: [UInt8] = []

    /// Statements that read one object, by class, kind of caller and the right that they require.
    private var singles: [SingleKey: any StoreStatement] = [:]
    private struct SingleKey: Hashable {
        let classId: Int64
        let kind: CallerKind
        let right: CallerKind.Right
        let readsGeneration: Bool
        let isList: Bool
    }

    /// The schema's number from the last statement with that column.
    var lastGeneration: Int64?

    /// Releases the prepared statements; otherwise the connection cannot be closed.
    func releaseStatements() {
        queries = [:]
        singles = [:]
    }

    /// Runs one read within the time limit. A `StoreReader` also checks whether the schema changed.
    func reading<T>(_ body: () throws -> T) throws -> T {
        try connection.limited(to: timeLimit, body)
    }

    /// Runs one read with a single statement within the time limit.
    /// - Parameter body: gets whether the statement must return the schema's number as its last column. `body` then
    ///   stores it in `lastGeneration` if there is a row.
    func readingOnce<T>(_ body: (_ readsGeneration: Bool) throws -> T) throws -> T { try reading { try body(false) } }

    /// Sends a statement of `readingOnce` whose rows do not have the schema's number, and a read of the number in the
    /// same round trip. The server reads the number after the rows: if it is the known one then, it was when the rows
    /// were read, because it only grows. `takeGeneration` follows the first step.
    func sendWithGeneration(_ statement: any StoreStatement) throws {
        guard let server = connection as? PostgreSQLStoreConnection else { return }
        try (statement as? PostgreSQLStoreStatement)?.send()
        try server.sendGeneration()
    }

    func takeGeneration() throws {
        lastGeneration = try (connection as? PostgreSQLStoreConnection)?.sentGeneration()
    }

    /// Whether the database has the class.
    public func hasClass(_ name: String) -> Bool { schema.classes[name] != nil }

    /// Refuses a class or a field of an order that does not exist: where clients add neither, its name is misspelt. To
    /// be called after a read, which has checked the caller's permissions.
    /// - Throws: `.operationForbidden` (119) with Parse Server's text, `.invalidKeyName` (105).
    public func requireKnown(_ className: String, order: [String] = []) throws {
        guard let info = schema.classes[className] else {
            throw ParseError(
                .operationForbidden, "This user is not allowed to access non-existent class: \(className)")
        }
        guard let name = QueryOrder.unknownField(in: order, of: info) else { return }
        throw ParseError(
            .invalidKeyName,
            "Invalid field name: \(name.prefix(200)). Compare order with the fields of \(className): it has none of "
                + "this name, which is case-sensitive.")
    }

    /// Checks the class-level permissions before work that takes time, so that a refused caller does not cause it.
    /// - Throws: as a read or write of the class would. ACLs of objects may still refuse.
    public func authorize(_ action: ClassPermissions.Action, _ className: String, caller: Caller) throws {
        try reading {
            guard let info = schema.classes[className] else { throw ParseError.objectNotFound }
            _ = try info.permissions.decide(action, caller, className: className)
        }
    }

    // MARK: One object

    /// One object as JSON text.
    /// - Throws: `.objectNotFound` (101) for an object that is missing or unreadable by the caller.
    public func get(
        _ className: String, _ objectId: String, keys: [String] = [], excludeKeys: [String] = [], caller: Caller
    ) throws -> [UInt8] {
        try read(className, objectId, keys: keys, excludeKeys: excludeKeys, caller: caller).body
    }

    /// One object, and the callers that would get the same response.
    /// - Throws: `.objectNotFound` (101) for an object that is missing or unreadable by the caller.
    public func read(
        _ className: String, _ objectId: String, keys: [String], excludeKeys: [String], caller: Caller
    ) throws -> ReadObject {
        try readingOnce { readsGeneration in
            guard let info = schema.classes[className] else { throw ParseError.objectNotFound }
            let decision = try info.permissions.decide(.get, caller, className: className)
            let statement = try singleStatement(info, decision, caller, readsGeneration: readsGeneration)
            defer { statement.reset() }
            try statement.bind(objectId, at: 5)
            guard try statement.step() else { throw ParseError.objectNotFound }
            if readsGeneration {
                lastGeneration = statement.int(SingleColumn.generation)
                guard hasObject(statement) else { throw ParseError.objectNotFound }
            }
            return try object(
                in: statement, info, objectId, keys: keys, excludeKeys: excludeKeys, caller: caller)
        }
    }

    /// Whether the row of a statement for one object with the schema's number has the object: it has a row without one
    /// too.
    func hasObject(_ statement: any StoreStatement) -> Bool { !statement.bytes(0).isEmpty }

    /// The object in the current row of a statement for one object.
    func object(
        in statement: any StoreStatement, _ info: ClassInfo, _ objectId: String, keys: [String],
        excludeKeys: [String], caller: Caller
    ) throws -> ReadObject {
        let selection = try selection(info, keys: keys, excludeKeys: excludeKeys, caller)
        let sharing = ResponseSharing(of: info, to: caller, [.get]) { statement.int(1) != 0 }
        let document = statement.bytes(0)
        if selection.isEverything { return ReadObject(body: Array(document), sharing: sharing) }
        var output: [UInt8] = []
        selection.append(document, objectId: objectId, to: &output)
        return ReadObject(body: output, sharing: sharing)
    }

    func singleStatement(
        _ info: ClassInfo, _ decision: ClassPermissions.Decision, _ caller: Caller, readsGeneration: Bool = false
    ) throws -> any StoreStatement {
        let statement = try unboundStatement(info, decision, CallerKind(caller), readsGeneration: readsGeneration)
        try caller.bind(to: statement)
        return statement
    }

    /// Columns of `unboundStatement` after the document and `publicRead`.
    enum SingleColumn {
        /// With `readsGeneration`: the schema's number.
        static let generation: Int32 = 2
        /// With `isList`: the object's id.
        static func objectId(readsGeneration: Bool) -> Int32 { readsGeneration ? 3 : 2 }
    }

    /// The statement for one object (parameter 5), to which the caller is not bound yet.
    /// - Parameter isList: for several objects. Parameter 5 is the JSON array of their ids.
    func unboundStatement(
        _ info: ClassInfo, _ decision: ClassPermissions.Decision, _ kind: CallerKind, readsGeneration: Bool,
        isList: Bool = false
    ) throws -> any StoreStatement {
        let key = SingleKey(
            classId: info.id, kind: kind, right: .read, readsGeneration: readsGeneration, isList: isList)
        if decision == .allowed, let statement = singles[key] { return statement }
        var condition = "o.objectId" + (isList ? info.dialect.isIn("?5", as: .text) : "=?5")
        if let readable = kind.condition(.read, of: info) { condition += " AND \(readable)" }
        if case .whereUserIs(let fields) = decision {
            condition += " AND \(try CompiledQuery.userIs(in: fields, info))"
        }
        let id = isList ? ", o.objectId" : ""
        let sql =
            readsGeneration
            ? "SELECT o.doc, o.publicRead, s.generation\(id) FROM storeState s LEFT JOIN o\(info.id) o ON \(condition)"
            : "SELECT o.doc, o.publicRead\(id) FROM o\(info.id) o WHERE \(condition)"
        let statement = try connection.statement(sql)
        if decision == .allowed { singles[key] = statement }
        return statement
    }

    /// The statement for the number and text of one object (parameter 5) that the caller may change. The caller is not
    /// bound yet.
    func statementForWriting(
        _ info: ClassInfo, _ decision: ClassPermissions.Decision, _ kind: CallerKind
    ) throws -> any StoreStatement {
        let key = SingleKey(classId: info.id, kind: kind, right: .write, readsGeneration: false, isList: false)
        if decision == .allowed, let statement = singles[key] { return statement }
        var sql = "SELECT o.id, o.doc FROM o\(info.id) o WHERE o.objectId=?5"
        if let writable = kind.condition(.write, of: info) { sql += " AND \(writable)" }
        if case .whereUserIs(let fields) = decision { sql += " AND \(try CompiledQuery.userIs(in: fields, info))" }
        let statement = try connection.statement(sql)
        if decision == .allowed { singles[key] = statement }
        return statement
    }

    /// - Throws: `.invalidQuery` (102) when a selection has too many names.
    func selection(
        _ info: ClassInfo, keys: [String], excludeKeys: [String], _ caller: Caller
    ) throws -> FieldSelection {
        if !keys.isEmpty { try KeySelection.check(keys, "keys") }
        if !excludeKeys.isEmpty { try KeySelection.check(excludeKeys, "excludeKeys") }
        return FieldSelection(
            keys: keys, excludeKeys: excludeKeys, of: info, caller: caller)
    }

    /// The objects with these ids, in their order; missing and unreadable ones are skipped.
    /// - Throws: `.invalidQuery` (102) for more than 32 MiB of documents.
    public func fetch(
        _ className: String, ids: [String], keys: [String], caller: Caller
    ) throws -> [(objectId: String, document: [UInt8])] {
        try fetch(className, ids: ids, keys: keys, caller: caller, bytesMax: nil)
    }

    /// As above, with a limit on the bytes.
    /// - Throws: `ResponseTooBig` for more than `bytesMax`; nil means the store's limit; `.invalidQuery` (102) above
    ///   the store's limit.
    public func fetch(
        _ className: String, ids: [String], keys: [String], caller: Caller, bytesMax: Int?
    ) throws -> [(objectId: String, document: [UInt8])] {
        try reading {
            // An include without permission finds nothing, and the gateway drops the field; the query does not fail.
            guard let info = schema.classes[className],
                let decision = try? info.permissions.decide(.get, caller, className: className)
            else { return [] }
            let selection = try selection(info, keys: keys, excludeKeys: [], caller)
            var found: [(objectId: String, document: [UInt8])] = []
            found.reserveCapacity(ids.count)
            var bytes = 0
            try forEachFound(ids, in: info, decision, caller) { id, stored in
                var document: [UInt8] = []
                selection.append(stored, objectId: id, to: &document)
                bytes += document.count
                guard bytes <= ObjectReader.answerBytesMax else { throw ObjectReader.answerTooLarge }
                guard bytes <= bytesMax ?? bytes else { throw ResponseTooBig(bytes: bytes, rows: found.count + 1) }
                if document.count >= 4096 { try connection.timeLimit.check() }
                found.append((id, document))
            }
            return found
        }
    }

    // MARK: Own tables

    /// The engine's SQL differences, for a service's own tables (docs/internals/sql.md).
    public var dialect: Dialect { connection.dialect }

    /// The rows of a SELECT without arguments on the service's own tables.
    public func rows(_ sql: String) throws -> [SQLRow] { try rows(sql, []) }

    /// The rows of a SELECT on the service's own tables. The SQL must come from code; `arguments` are bound to `?`.
    /// - Throws: `StoreError`.
    public func rows(_ sql: String, _ arguments: [SQLValue]) throws -> [SQLRow] {
        try readingOnce { readsGeneration in
            let rows = try connection.rows(sql, arguments) { if readsGeneration { try sendWithGeneration($0) } }
            if readsGeneration { try takeGeneration() }
            return rows
        }
    }
}
