import ParseProtocol

/// Reads objects over one connection; the common part of `StoreReader` and `StoreTransaction`.
public class ObjectReader: ObjectReading {
    let connection: Connection
    var schema: Schema {
        didSet {
            guard schema.generation != oldValue.generation else { return }
            queries = [:]
            singles = [:]
        }
    }
    /// How long one call may take before it fails with `ParseError` 124.
    public var timeLimit: Duration = .seconds(4)

    /// Queries already compiled, by their exact text. A shop asks the same few hundred again and again.
    private var queries: [CompiledQuery.Key: CompiledQuery] = [:]
    private static let queriesMax = 512
    /// Bytes of documents in one answer, 32 MiB. Documents have up to 128 KB and pages many rows.
    static let answerBytesMax = 33_554_432
    static let answerTooLarge = ParseError(
        .invalidQuery, "The answer is too large; use a smaller limit or keys.")
    /// A longer condition is compiled each time, so that the cache stays small.
    private static let cachedBytesMax = 2048

    init(connection: Connection, schema: Schema) {
        self.connection = connection
        self.schema = schema
    }

    /// Statements that read one object, by class and kind of caller.
    private var singles: [SingleKey: Statement] = [:]
    private struct SingleKey: Hashable {
        let classId: Int64
        let kind: CallerKind
    }

    /// Lets go of prepared statements, without which the connection cannot be closed.
    func releaseStatements() {
        queries = [:]
        singles = [:]
    }

    /// Runs one read within the time limit; a reader also looks whether the schema changed.
    func reading<T>(_ body: () throws -> T) throws -> T {
        try connection.limited(to: timeLimit, body)
    }

    /// Decides by the class alone, for what takes time and should not be done for somebody who is then refused.
    /// - Throws: as a read or write of the class would. Objects' ACLs may still refuse.
    public func authorize(_ action: ClassPermissions.Action, _ className: String, caller: Caller) throws {
        try reading {
            guard let info = schema.classes[className] else { throw ParseError.objectNotFound }
            _ = try info.permissions.decide(action, caller, className: className)
        }
    }

    // MARK: One object

    public func get(
        _ className: String, _ objectId: String, keys: [String], excludeKeys: [String], caller: Caller
    ) throws -> [UInt8] {
        try reading {
            guard let info = schema.classes[className] else { throw ParseError.objectNotFound }
            let decision = try info.permissions.decide(.get, caller, className: className)
            let statement = try singleStatement(info, decision, caller)
            defer { statement.reset() }
            statement.bind(objectId, at: 5)
            guard try statement.step() else { throw ParseError.objectNotFound }
            let selection = selection(info, keys: keys, excludeKeys: excludeKeys, caller)
            let document = statement.bytes(0)
            if selection.isEverything { return Array(document) }
            var output: [UInt8] = []
            selection.append(document, objectId: objectId, to: &output)
            return output
        }
    }

    private func singleStatement(
        _ info: ClassInfo, _ decision: ClassPermissions.Decision, _ caller: Caller
    ) throws -> Statement {
        let key = SingleKey(classId: info.id, kind: CallerKind(caller))
        if decision == .allowed, let statement = singles[key] {
            caller.bind(to: statement)
            return statement
        }
        var sql = "SELECT o.doc FROM o\(info.id) o WHERE o.objectId=?5"
        if let readable = key.kind.condition(.read, classId: info.id) { sql += " AND \(readable)" }
        if case .whereUserIs(let fields) = decision { sql += " AND \(try CompiledQuery.userIs(in: fields, info))" }
        let statement = try connection.statement(sql)
        if decision == .allowed { singles[key] = statement }
        caller.bind(to: statement)
        return statement
    }

    func selection(
        _ info: ClassInfo, keys: [String], excludeKeys: [String], _ caller: Caller
    ) -> FieldSelection {
        FieldSelection(
            keys: keys, excludeKeys: excludeKeys, hidden: info.permissions.hiddenFields(from: caller),
            className: info.name, caller: caller)
    }

    public func fetch(
        _ className: String, ids: [String], keys: [String], caller: Caller
    ) throws -> [(objectId: String, document: [UInt8])] {
        try reading {
            // An include the caller may not follow finds nothing, and the gateway drops the field; the query does not fail.
            guard let info = schema.classes[className],
                let decision = try? info.permissions.decide(.get, caller, className: className)
            else { return [] }
            let selection = selection(info, keys: keys, excludeKeys: [], caller)
            var found: [(objectId: String, document: [UInt8])] = []
            found.reserveCapacity(ids.count)
            var bytes = 0
            let statement = try singleStatement(info, decision, caller)
            defer { statement.reset() }
            for id in ids {
                statement.bind(id, at: 5)
                if try statement.step() {
                    var document: [UInt8] = []
                    selection.append(statement.bytes(0), objectId: id, to: &document)
                    bytes += document.count
                    guard bytes <= ObjectReader.answerBytesMax else { throw ObjectReader.answerTooLarge }
                    found.append((id, document))
                }
                statement.reset()
            }
            return found
        }
    }

    // MARK: Queries

    public func find(_ query: Query, caller: Caller) throws -> FoundPage {
        try reading {
            var body: [UInt8] = []
            body.reserveCapacity(min(max(query.limit, 1), 100) * 1100 + 64)
            body.append(contentsOf: #"{"results":["#.utf8)
            var rows = 0
            try forEachRow(of: query, caller) { statement, selection, score in
                if rows > 0 { body.append(UInt8(ascii: ",")) }
                rows += 1
                selection.append(statement.bytes(0), objectId: statement.text(1), to: &body)
                guard body.count <= ObjectReader.answerBytesMax else { throw ObjectReader.answerTooLarge }
                if let score, body.last == UInt8(ascii: "}") {
                    body.removeLast()
                    body.append(contentsOf: #","score":\#(score)}"#.utf8)
                }
            }
            body.append(UInt8(ascii: "]"))
            if query.wantsCount { body.append(contentsOf: #","count":\#(try counted(query, caller))"#.utf8) }
            body.append(UInt8(ascii: "}"))
            return FoundPage(body: body, rows: rows)
        }
    }

    public func documents(_ query: Query, caller: Caller) throws -> [JSON] {
        try reading {
            var documents: [JSON] = []
            try forEachRow(of: query, caller) { statement, selection, score in
                var document: [UInt8] = []
                selection.append(statement.bytes(0), objectId: statement.text(1), to: &document)
                var object = try JSON(parsing: document)
                if let score { object["score"] = .double(score) }
                documents.append(object)
            }
            return documents
        }
    }

    public func count(_ query: Query, caller: Caller) throws -> Int {
        try reading {
            return try counted(query, caller)
        }
    }

    private func counted(_ query: Query, _ caller: Caller) throws -> Int {
        guard let compiled = try compiled(query, .count, caller) else { return 0 }
        let statement = try compiled.prepared(compiled.countSQL, connection, caller)
        defer { statement.reset() }
        return try statement.step() ? Int(statement.int(0)) : 0
    }

    func forEachRow(
        of query: Query, _ caller: Caller, _ body: (Statement, FieldSelection, _ score: Double?) throws -> Void
    ) throws {
        // No rows and a count is the protocol's way to count, for which the right to find is not needed.
        if query.limit <= 0, query.wantsCount { return }
        // Compiled also for a page without rows, so that a bad query never looks like an empty result.
        guard let compiled = try compiled(query, .find, caller), query.limit > 0,
            let info = schema.classes[query.className]
        else { return }
        let selection = selection(info, keys: query.keys, excludeKeys: query.excludeKeys, caller)
        let statement = try compiled.prepared(
            compiled.pageSQL, connection, caller, limit: query.limit, skip: query.skip)
        defer { statement.reset() }
        while try statement.step() {
            try body(statement, selection, compiled.hasScore ? statement.real(2) : nil)
        }
    }

    /// The SQL of a query, after the caller's class-level permissions; nil for a class that does not exist.
    private func compiled(
        _ query: Query, _ action: ClassPermissions.Action, _ caller: Caller
    ) throws -> CompiledQuery? {
        guard let info = schema.classes[query.className] else {
            if !Names.isClassName(query.className) {
                throw ParseError(.invalidClassName, "Invalid classname: \(query.className.prefix(200)).")
            }
            return nil
        }
        var userFields: [String]?
        if case .whereUserIs(let fields) = try info.permissions.decide(action, caller, className: info.name) {
            userFields = fields
        }
        let hidden = info.permissions.hiddenFields(from: caller)
        let wantsScore = query.keys.contains("$score")
        let kind = CallerKind(caller)
        var key: CompiledQuery.Key?
        if case .text(let text) = query.condition, text.count <= ObjectReader.cachedBytesMax {
            let exact = CompiledQuery.Key(
                className: info.name, condition: text, order: query.order, kind: kind, userFields: userFields ?? [],
                hidden: hidden, wantsScore: wantsScore)
            if let compiled = queries[exact] { return compiled }
            key = exact
        }
        var compiler = ConditionCompiler(info: info, hidden: hidden) { [unowned self] in
            try relation($0, $1, $2, to: info.name, caller)
        }
        let condition = try compiler.compile(try query.condition.json())
        let compiled = try CompiledQuery(
            condition: condition, compiler: compiler, order: query.order, kind: kind, userFields: userFields,
            wantsScore: wantsScore)
        if let key, compiler.isCacheable {
            if queries.count >= ObjectReader.queriesMax { queries = [:] }
            queries[key] = compiled
        }
        return compiled
    }

    /// The class id of a relation's owner when the caller may see the relation.
    private func relation(
        _ className: String, _ objectId: String, _ key: String, to target: String, _ caller: Caller
    ) throws -> Int64? {
        guard let owner = schema.classes[className] else {
            throw ParseError(.invalidQuery, "$relatedTo an object of another service cannot be answered here.")
        }
        let decision = try owner.permissions.decide(.get, caller, className: className)
        guard !owner.permissions.hiddenFields(from: caller).contains(key) else {
            throw ParseError(.operationForbidden, "This user is not allowed to query \(key) on class \(className)")
        }
        guard owner.fields[key] == .relation(target) else { return nil }
        let statement = try singleStatement(owner, decision, caller)
        defer { statement.reset() }
        statement.bind(objectId, at: 5)
        return try statement.step() ? owner.id : nil
    }

    /// SQLite's plan for a query, for tests and diagnosis.
    package func plan(_ query: Query, caller: Caller) throws -> String {
        try reading {
            guard let compiled = try compiled(query, .find, caller) else { return "" }
            let statement = try compiled.prepared("EXPLAIN QUERY PLAN " + compiled.pageSQL, connection, caller)
            defer { statement.reset() }
            var lines: [String] = []
            while try statement.step() { lines.append(statement.text(3)) }
            return lines.joined(separator: "\n")
        }
    }

    // MARK: Own tables

    public func rows(_ sql: String, _ arguments: [SQLValue]) throws -> [SQLRow] {
        try reading { try connection.rows(sql, arguments) }
    }
}

extension Query.Condition {
    fileprivate func json() throws -> JSON {
        switch self {
        case .value(let value): return value
        case .text(let text):
            if text.isEmpty { return [:] }
            do {
                return try JSON(parsing: text)
            } catch .tooDeep {
                throw ParseError(.invalidQuery, "where is nested too deeply.")
            } catch .tooManyValues {
                throw ParseError(.invalidQuery, "where has more than \(JSON.valuesMax) values.")
            } catch {
                throw ParseError(.invalidJSON, "where is not valid JSON.")
            }
        }
    }
}
