import ParseProtocol

/// The source of pg_dump's files: text, also in gzip, and what pg_restore reads.
enum PostgreSQLDump {
    /// - Returns: nil for a file or folder of another kind.
    /// - Throws: `MoveInError` for a dump that is damaged or not of Parse Server.
    static func open(_ path: String) throws -> (any OldServer)? {
        try DumpSource(at: path).map { try DumpedServer($0) }
    }
}

/// A dump of a database of Parse Server.
struct DumpedServer: OldServer {
    private let index: DumpIndex
    private let schemaName: String
    private let schemas: [String: StoredSchema]

    init(_ source: DumpSource) throws {
        index = try DumpIndex(source)
        let found = index.tables.keys.filter { $0.name == StoredSchema.table }.map(\.schema).sorted()
        guard let name = found.contains("public") ? "public" : found.first else {
            throw MoveInError(
                SourcePlace(file: source.path, offset: nil),
                "The dump has no table _SCHEMA: it is not of a database of Parse Server.")
        }
        guard found.count == 1 || name == "public" else {
            throw MoveInError(
                SourcePlace(file: source.path, offset: nil),
                """
                The dump has several apps, in the schemas \(found.joined(separator: ", ")). Dump one with \
                pg_dump --schema.
                """)
        }
        schemaName = name
        var rows: [MovedRow] = []
        if let table = index.tables[TableName(schema: name, name: StoredSchema.table)] {
            var stored = DumpRows(index, table) { RowForm(StoredSchema.table, $0, nil) }
            while let row = try stored.next() {
                do throws(RowProblem) {
                    rows.append(try row.form.row(try row.values.get(), row.place))
                } catch {
                    throw MoveInError(row.place, "A row of _SCHEMA cannot be read. \(error.reason)")
                }
            }
        }
        schemas = try StoredSchema.all(rows)
    }

    var name: String { "PostgreSQL dump \(index.source.path)" }

    private func stored(_ className: String) -> DumpTable? {
        index.tables[TableName(schema: schemaName, name: StoredName.cut(className))]
    }

    func classes() throws -> [MovedClass] {
        let listed = schemas.map { name, schema -> MovedClass in
            let table = stored(name)
            return schema.movedClass(name, rows: table?.rows ?? 0, bytes: table?.bytes ?? 0)
        }
        let own = Set(schemas.keys.map(StoredName.cut))
        let others = index.tables.values.filter { $0.name.schema == schemaName && !own.contains($0.name.name) }
        return try listed
            + others.compactMap { table -> MovedClass? in
                let name = table.name.name
                if let relation = try StoredSchema.relation(name, of: schemas) {
                    return MovedClass(name: relation, rows: table.rows, bytes: table.bytes)
                }
                guard StoredSchema.unlisted.contains(name), table.rows > 0 else { return nil }
                return StoredSchema(unlisted: name, table.columns ?? [])
                    .movedClass(name, rows: table.rows, bytes: table.bytes)
            }
    }

    func read(_ className: String, since: Int64?, into sink: any RowSink) async throws {
        guard let table = stored(className) else { return }
        var rows = DumpRows(index, table) { RowForm(className, $0, schemas[className]) }
        var batch = StoredRowBatch()
        while let row = try rows.next() {
            let values: [[UInt8]?]
            switch row.values {
            case .success(let read): values = read
            case .failure(let problem):
                try await sink.refuse(RefusedRow(className: className, place: row.place, reason: problem.reason))
                continue
            }
            try await batch.add(values, row.form, row.place, to: sink)
        }
        try await batch.flush(to: sink)
    }
}

/// Converts rows and hands them to a sink, some hundred at a time.
struct StoredRowBatch {
    private static let rowsMax = 200
    private static let bytesMax = 1 << 20

    private var rows: [MovedRow] = []
    private var bytes = 0

    mutating func add(
        _ values: [[UInt8]?], _ form: RowForm, _ place: SourcePlace, to sink: any RowSink
    ) async throws {
        let row: MovedRow
        do throws(RowProblem) {
            row = try form.row(values, place)
        } catch {
            try await sink.refuse(
                RefusedRow(
                    className: form.className, objectId: form.objectId(values), place: place, reason: error.reason))
            return
        }
        rows.append(row)
        bytes += values.reduce(0) { $0 + ($1?.count ?? 0) }
        if rows.count == Self.rowsMax || bytes >= Self.bytesMax { try await flush(to: sink) }
    }

    mutating func flush(to sink: any RowSink) async throws {
        try Task.checkCancellation()
        guard !rows.isEmpty else { return }
        let full = rows
        (rows, bytes) = ([], 0)
        try await sink.take(full)
    }
}
