import ParseProtocol
import PostgreSQL

/// The source of a running PostgreSQL server.
enum PostgreSQLServer {
    /// - Parameter url: `postgresql://…` as libpq has it.
    /// - Throws: `MoveInError`, without the password, when the server cannot be read or is not one of Parse Server.
    static func open(_ url: String) async throws -> any OldServer { try LiveDatabase(url) }
}

/// A database of Parse Server on a running server. Each call has its own connection and sees one state of the database.
struct LiveDatabase: OldServer {
    private struct Layout {
        let database: String
        let schema: String
        let tables: [String: [StoredColumn]]
        let schemas: [String: StoredSchema]
    }

    private let target: PostgreSQLTarget
    private let layout: Layout

    private static let find = """
        SELECT n.nspname::text FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE c.relname = '\(StoredSchema.table)' AND c.relkind IN ('r', 'p', 'v')
        ORDER BY pg_catalog.pg_table_is_visible(c.oid) DESC, n.nspname
        """
    private static let columns = """
        SELECT c.relname::text, a.attname::text, pg_catalog.format_type(a.atttypid, a.atttypmod)::text
        FROM pg_catalog.pg_attribute a JOIN pg_catalog.pg_class c ON c.oid = a.attrelid
        JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
        WHERE n.nspname = $1::text AND c.relkind IN ('r', 'p', 'v', 'm', 'f') AND a.attnum > 0 AND NOT a.attisdropped
        ORDER BY c.relname, a.attnum
        """
    /// The exact digits of numbers, also from servers before PostgreSQL 12; and no limits of a server's settings for
    /// short requests.
    private static let settings = [
        "extra_float_digits": "3", "statement_timeout": "0", "idle_in_transaction_session_timeout": "0",
    ]

    init(_ url: String) throws {
        target = PostgreSQLTarget(url, applicationName: "satchel-move-in", settings: Self.settings)
        layout = try Self.connected(to: target, "PostgreSQL") { connection -> Layout in
            let database = try connection.rows("SELECT current_database()::text").first?.first?.textValue ?? ""
            guard let schema = try connection.rows(Self.find).first?.first?.textValue else {
                throw MoveInError(
                    "The database \(database) has no table _SCHEMA: it is not a database of Parse Server.")
            }
            var tables: [String: [StoredColumn]] = [:]
            for row in try connection.rows(Self.columns, [.text(schema)]) {
                guard let table = row[0].textValue, let column = row[1].textValue, let type = row[2].textValue else {
                    continue
                }
                tables[table, default: []].append(StoredColumn(name: column, type: type))
            }
            let schemas = try StoredSchema.all(try Self.rows(of: schema, tables[StoredSchema.table] ?? [], connection))
            return Layout(database: database, schema: schema, tables: tables, schemas: schemas)
        }
    }

    /// The rows of `_SCHEMA`.
    private static func rows(
        of schema: String, _ columns: [StoredColumn], _ connection: PostgreSQLConnection
    ) throws -> [MovedRow] {
        let form = RowForm(StoredSchema.table, columns, nil)
        let statement = try connection.statement(select(columns, schema, StoredSchema.table))
        var rows: [MovedRow] = []
        while try statement.step() {
            do throws(RowProblem) {
                rows.append(try form.row(values(statement), place(StoredSchema.table)))
            } catch {
                throw MoveInError(place(StoredSchema.table), error.reason)
            }
        }
        return rows
    }

    var name: String { "PostgreSQL database \(layout.database)" }

    func classes() throws -> [MovedClass] {
        let (tables, schemas) = (layout.tables, layout.schemas)
        return try Self.connected(to: target, name) { connection -> [MovedClass] in
            func measure(_ className: String) throws -> (rows: Int, bytes: Int) {
                let table = StoredName.cut(className)
                guard tables[table] != nil else { return (0, 0) }
                let place = "\(quoted(layout.schema)).\(quoted(table))"
                let row = try connection.rows(
                    "SELECT count(*), pg_catalog.pg_table_size($1::text::regclass) FROM \(place)", [.text(place)]
                ).first
                return (Int(row?[0].intValue ?? 0), Int(row?[1].intValue ?? 0))
            }
            var classes: [MovedClass] = []
            for (name, schema) in schemas {
                let size = try measure(name)
                classes.append(schema.movedClass(name, rows: size.rows, bytes: size.bytes))
            }
            let own = Set(schemas.keys.map(StoredName.cut))
            for (name, columns) in tables where !own.contains(name) {
                if let relation = try StoredSchema.relation(name, of: schemas) {
                    let size = try measure(relation)
                    classes.append(MovedClass(name: relation, rows: size.rows, bytes: size.bytes))
                } else if StoredSchema.unlisted.contains(name) {
                    let size = try measure(name)
                    guard size.rows > 0 else { continue }
                    classes.append(
                        StoredSchema(unlisted: name, columns).movedClass(name, rows: size.rows, bytes: size.bytes))
                }
            }
            return classes
        }
    }

    func read(_ className: String, since: Int64?, into sink: any RowSink) async throws {
        let table = StoredName.cut(className)
        guard let columns = layout.tables[table] else { return }
        let form = RowForm(className, columns, layout.schemas[className])
        var sql = Self.select(columns, layout.schema, table)
        var values: [PostgreSQLValue] = []
        if let since, columns.contains(where: { $0.name == "updatedAt" && $0.form == .time }) {
            sql += " WHERE \"updatedAt\" >= $1::text::timestamptz"
            values = [.text(Timestamp(milliseconds: since).iso)]
        }
        do {
            let connection = try PostgreSQLConnection(target)
            defer { connection.close() }
            try connection.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY")
            let statement = try connection.statement(sql)
            statement.streams = true
            try statement.bind(values)
            var batch = StoredRowBatch()
            while try statement.step() {
                try await batch.add(Self.values(statement), form, Self.place(className), to: sink)
            }
            try await batch.flush(to: sink)
        } catch let error as PostgreSQLError {
            throw MoveInError("\(name): \(error)")
        }
    }

    private static func connected<Answer>(
        to target: PostgreSQLTarget, _ name: String, _ body: (PostgreSQLConnection) throws -> Answer
    ) throws -> Answer {
        do {
            let connection = try PostgreSQLConnection(target)
            defer { connection.close() }
            try connection.begin("ISOLATION LEVEL REPEATABLE READ READ ONLY")
            return try body(connection)
        } catch let error as PostgreSQLError {
            throw MoveInError("\(name): \(error)")
        }
    }

    private static func select(_ columns: [StoredColumn], _ schema: String, _ table: String) -> String {
        "SELECT \(columns.map { quoted($0.name) }.joined(separator: ", ")) FROM \(quoted(schema)).\(quoted(table))"
    }

    private static func values(_ statement: PostgreSQLStatement) -> [[UInt8]?] {
        (0..<statement.columnCount).map { statement.isNull($0) ? nil : Array(statement.bytes($0)) }
    }

    private static func place(_ table: String) -> SourcePlace { SourcePlace(file: "table \(table)", offset: nil) }
}
