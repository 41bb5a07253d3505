import ParseProtocol

/// Reads objects over one connection; the common part of `StoreReader` and `StoreTransaction`.
public class ObjectReader: ObjectReading {
    let connection: any StoreConnection
    var schema: Schema {
        didSet {
            guard schema.generation != oldValue.generation else { return }
            queries = [:]
            singles = [:]
        }
    }
    /// The longest that one call takes before it fails with `.timeout` (124).
    public var timeLimit: Duration = .seconds(4)

    /// The log of costly queries; nil where nobody reads it.
    var shapes: ShapeLog?
    /// Whether it is found out of pages who else would get the same.
    var tellsSharing = true

    /// Queries already compiled, by their exact text. A shop asks the same few hundred again and again.
    var queries: [CompiledQuery.Key: CompiledQuery] = [:]
    static let queriesMax = 512
    /// Bytes of documents in one answer, 32 MiB. Documents have up to 128 KB and pages many rows.
    static let answerBytesMax = 33_554_432
    /// Bytes of an answer between two looks at the time.
    static let bytesPerCheck = 65_536
    static let answerTooLarge = ParseError(
        .invalidQuery, "The answer is too large; use a smaller limit or keys.")
    /// A longer condition is compiled each time, so that the cache stays small.
    static let cachedBytesMax = 2048

    init(connection: any StoreConnection, schema: Schema) {
        self.connection = connection
        self.schema = schema
    }

    /// The memory in which pages with little room are written, kept from one to the next; at most 4 MiB.
    var pageDraft: [UInt8] = []

    /// Statements that read one object, by class and kind of caller.
    private var singles: [SingleKey: any StoreStatement] = [:]
    private struct SingleKey: Hashable {
        let classId: Int64
        let kind: CallerKind
        let tellsGeneration: Bool
    }

    /// The schema's number as the last statement that has it told it.
    var toldGeneration: Int64?

    /// Lets go of prepared statements, without which the connection cannot be closed.
    func releaseStatements() {
        queries = [:]
        singles = [:]
    }

    /// Runs one read within the time limit; a reader also looks whether the schema changed.
    func reading<T>(_ body: () throws -> T) throws -> T {
        try connection.limited(to: timeLimit, body)
    }

    /// Runs one read of one statement within the time limit.
    /// - Parameter body: is given whether the schema's number is to be a column of the statement, the last one, which
    ///   `body` then keeps as `toldGeneration` where there is a row.
    func readingOnce<T>(_ body: (_ tellsGeneration: Bool) throws -> T) throws -> T { try reading { try body(false) } }

    /// Whether the file has the class.
    public func hasClass(_ name: String) -> Bool { schema.classes[name] != nil }

    /// Decides by the class alone, for what takes time and should not be done for somebody who is then refused.
    /// - Throws: as a read or write of the class would. Objects' ACLs may still refuse.
    public func authorize(_ action: ClassPermissions.Action, _ className: String, caller: Caller) throws {
        try reading {
            guard let info = schema.classes[className] else { throw ParseError.objectNotFound }
            _ = try info.permissions.decide(action, caller, className: className)
        }
    }

    // MARK: One object

    /// One object as JSON text.
    /// - Throws: `.objectNotFound` (101) for a missing object and for one the caller may not read.
    public func get(
        _ className: String, _ objectId: String, keys: [String], excludeKeys: [String], caller: Caller
    ) throws -> [UInt8] {
        try read(className, objectId, keys: keys, excludeKeys: excludeKeys, caller: caller).body
    }

    /// One object, and who else would get the same.
    /// - Throws: `.objectNotFound` (101) for a missing object and for one the caller may not read.
    public func read(
        _ className: String, _ objectId: String, keys: [String], excludeKeys: [String], caller: Caller
    ) throws -> ReadObject {
        try readingOnce { tellsGeneration in
            guard let info = schema.classes[className] else { throw ParseError.objectNotFound }
            let decision = try info.permissions.decide(.get, caller, className: className)
            let statement = try singleStatement(info, decision, caller, tellsGeneration: tellsGeneration)
            defer { statement.reset() }
            try statement.bind(objectId, at: 5)
            guard try statement.step() else { throw ParseError.objectNotFound }
            if tellsGeneration { toldGeneration = statement.int(2) }
            let selection = try selection(info, keys: keys, excludeKeys: excludeKeys, caller)
            let sharing = AnswerSharing(of: info, to: caller, [.get]) { statement.int(1) != 0 }
            let document = statement.bytes(0)
            if selection.isEverything { return ReadObject(body: Array(document), sharing: sharing) }
            var output: [UInt8] = []
            selection.append(document, objectId: objectId, to: &output)
            return ReadObject(body: output, sharing: sharing)
        }
    }

    func singleStatement(
        _ info: ClassInfo, _ decision: ClassPermissions.Decision, _ caller: Caller, tellsGeneration: Bool = false
    ) throws -> any StoreStatement {
        let key = SingleKey(classId: info.id, kind: CallerKind(caller), tellsGeneration: tellsGeneration)
        if decision == .allowed, let statement = singles[key] {
            try caller.bind(to: statement)
            return statement
        }
        let generation = tellsGeneration ? ", (SELECT generation FROM storeState)" : ""
        var sql = "SELECT o.doc, o.publicRead\(generation) FROM o\(info.id) o WHERE o.objectId=?5"
        if let readable = key.kind.condition(.read, of: info) { sql += " AND \(readable)" }
        if case .whereUserIs(let fields) = decision { sql += " AND \(try CompiledQuery.userIs(in: fields, info))" }
        let statement = try connection.statement(sql)
        if decision == .allowed { singles[key] = statement }
        try caller.bind(to: statement)
        return statement
    }

    /// - Throws: `.invalidQuery` (102) for more names than a selection may have.
    func selection(
        _ info: ClassInfo, keys: [String], excludeKeys: [String], _ caller: Caller
    ) throws -> FieldSelection {
        if !keys.isEmpty { try KeySelection.check(keys, "keys") }
        if !excludeKeys.isEmpty { try KeySelection.check(excludeKeys, "excludeKeys") }
        return FieldSelection(
            keys: keys, excludeKeys: excludeKeys, permissions: info.permissions, className: info.name, caller: caller)
    }

    /// The objects with these ids, in their order; missing and unreadable ones are left out.
    /// - Throws: `.invalidQuery` (102) for more than 32 MiB of documents.
    public func fetch(
        _ className: String, ids: [String], keys: [String], caller: Caller
    ) throws -> [(objectId: String, document: [UInt8])] {
        try fetch(className, ids: ids, keys: keys, caller: caller, bytesMax: nil)
    }

    /// - Throws: `OutgrownAnswer` for more than `bytesMax`; nil is as many as the store allows, `.invalidQuery` (102)
    ///   past that.
    public func fetch(
        _ className: String, ids: [String], keys: [String], caller: Caller, bytesMax: Int?
    ) throws -> [(objectId: String, document: [UInt8])] {
        try reading {
            // An include the caller may not follow finds nothing, and the gateway drops the field; the query does not
            // fail.
            guard let info = schema.classes[className],
                let decision = try? info.permissions.decide(.get, caller, className: className)
            else { return [] }
            let selection = try selection(info, keys: keys, excludeKeys: [], caller)
            var found: [(objectId: String, document: [UInt8])] = []
            found.reserveCapacity(ids.count)
            var bytes = 0
            let statement = try singleStatement(info, decision, caller)
            defer { statement.reset() }
            for id in ids {
                try statement.bind(id, at: 5)
                if try statement.step() {
                    var document: [UInt8] = []
                    selection.append(statement.bytes(0), objectId: id, to: &document)
                    bytes += document.count
                    guard bytes <= ObjectReader.answerBytesMax else { throw ObjectReader.answerTooLarge }
                    guard bytes <= bytesMax ?? bytes else { throw OutgrownAnswer(bytes: bytes, rows: found.count + 1) }
                    if document.count >= 4096 { try connection.timeLimit.check() }
                    found.append((id, document))
                }
                statement.reset()
            }
            return found
        }
    }

    // MARK: Own tables

    /// How the engine's SQL differs, for a service's own tables (docs/sql.md).
    public var dialect: Dialect { connection.dialect }

    /// The rows of a SELECT on the service's own tables; `arguments` are bound to `?`.
    /// - Throws: `StoreError`.
    public func rows(_ sql: String, _ arguments: [SQLValue]) throws -> [SQLRow] {
        try reading { try connection.rows(sql, arguments) }
    }
}
