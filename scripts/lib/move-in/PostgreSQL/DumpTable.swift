/// A table of a dump, with the places of its rows.
struct DumpTable: Sendable {
    let name: TableName
    /// Nil when the dump does not define the table.
    var columns: [StoredColumn]?
    /// Ranges of the text that hold statements with rows; other tables' rows may be between them.
    var ranges: [Range<Int>] = []
    var rows = 0
    var bytes = 0

    private static let rangesMax = 1000

    mutating func add(_ range: Range<Int>, rows: Int) {
        self.rows += rows
        bytes += range.count
        if let last = ranges.last, last.upperBound + 1 >= range.lowerBound || ranges.count >= Self.rangesMax {
            ranges[ranges.count - 1] = last.lowerBound..<range.upperBound
        } else {
            ranges.append(range)
        }
    }
}

/// What a first pass over a dump finds.
struct DumpIndex: Sendable {
    private(set) var source: DumpSource
    private(set) var tables: [TableName: DumpTable] = [:]
    private(set) var escapes = false

    /// - Throws: `MoveInError` for a dump that is truncated or damaged, or that holds several databases.
    init(_ source: DumpSource) throws {
        self.source = source
        var packed: GzipBytes?
        if case .gzip = source.form { packed = try GzipBytes(source.path) }
        let text = try packed.map { DumpText(source, bytes: $0) } ?? DumpText(source)
        let statements = DumpStatements(text)
        while let statement = try statements.next() {
            switch statement {
            case .table(let name, let columns):
                guard tables[name]?.columns == nil else {
                    throw MoveInError(
                        source.place(statements.start),
                        "The table \(name.name) is defined twice: give a dump of one database.")
                }
                tables[name, default: DumpTable(name: name)].columns = columns
            case .rows(let name, _):
                let start = statements.start
                let rows = try statements.skipRows()
                tables[name, default: DumpTable(name: name)].add(start..<text.offset, rows: rows)
            }
        }
        guard text.hasEnded else { throw text.truncated() }
        escapes = text.escapes
        if let packed { self.source.form = .gzip(packed.marks) }
    }
}

/// The rows of one table of a dump.
struct DumpRows {
    struct Row {
        let form: RowForm
        let place: SourcePlace
        let values: Result<[[UInt8]?], RowProblem>
    }

    private let index: DumpIndex
    private let table: DumpTable
    private let makeForm: ([StoredColumn]) -> RowForm
    private var ranges: ArraySlice<Range<Int>>
    private var end = 0
    private var statements: DumpStatements?
    private var names: [String]?
    private var form: RowForm?
    private var isWithin = false

    init(_ index: DumpIndex, _ table: DumpTable, form makeForm: @escaping ([StoredColumn]) -> RowForm) {
        self.index = index
        self.table = table
        self.makeForm = makeForm
        ranges = table.ranges[...]
        // The text of an archive is the table's alone, in another place than in the first pass.
        if case .archive = index.source.form, !ranges.isEmpty { ranges = [0..<Int.max] }
    }

    /// - Returns: nil after the last row.
    mutating func next() throws -> Row? {
        while true {
            if isWithin, let form, let statements {
                if let row = try statements.row() {
                    return Row(form: form, place: index.source.place(row.offset), values: row.values)
                }
                isWithin = false
            }
            guard let current = statements, current.text.offset < end, let statement = try current.next() else {
                guard let range = ranges.popFirst() else { return nil }
                end = range.upperBound
                statements = DumpStatements(
                    try DumpText(index.source, from: range.lowerBound, escapes: index.escapes, table: table.name))
                continue
            }
            guard case .rows(let name, let columns) = statement else { continue }
            guard name == table.name else {
                _ = try current.skipRows()
                continue
            }
            isWithin = true
            if form == nil || columns != names { try begin(columns, current) }
        }
    }

    private mutating func begin(_ columns: [String]?, _ statements: DumpStatements) throws {
        guard let defined = table.columns else {
            throw MoveInError(
                index.source.place(statements.start),
                "The dump does not define the table \(table.name.name). Dump without --data-only.")
        }
        let types = Dictionary(defined.map { ($0.name, $0) }) { first, _ in first }
        let chosen = try columns?.map { name in
            guard let column = types[name] else {
                throw MoveInError(
                    index.source.place(statements.start), "The table \(table.name.name) has no column \(name).")
            }
            return column
        }
        form = makeForm(chosen ?? defined)
        names = columns
    }
}
