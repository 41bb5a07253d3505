import ParseProtocol

/// The next thing that a server does for automatic indexes.
enum IndexWork: Sendable {
    /// - columns: what stands behind the table's name in `CREATE INDEX`.
    case build(id: Int64, table: String, columns: String)
    case drop(id: Int64)
    /// The tables of a class that is gone, by its number.
    case dropTables(Int64)

    var id: Int64 {
        switch self {
        case .build(let id, _, _), .drop(let id), .dropTables(let id): id
        }
    }

    /// The index's name in SQL.
    var index: String { "a\(id)" }
}

/// The outcome of it.
enum IndexOutcome: Sendable {
    case done
    /// Values are too long for an index.
    case unfit
    /// It was told to stop, or another process is at it: to be tried again.
    case later
}

extension AutomaticIndex {
    /// Bytes of an object's values that PostgreSQL may refuse to put into an index of several fields.
    private static let valueBytesMax = 2_500

    /// Whether an object cannot be saved because of this index. It lasts until the index is gone.
    func isOvergrown(by document: [String: JSON]) -> Bool {
        guard state != .unwanted else { return false }
        return fields.all.reduce(0) { $0 + (document[$1]?.serialized.count ?? 0) } > Self.valueBytesMax
    }

    /// The columns of the index in PostgreSQL: behind its keys the order in which objects were made, then the filters.
    /// One of columns alone counts objects without looking at them.
    func definition(_ info: ClassInfo) throws -> String {
        func columns(_ fields: [String]) throws -> [String] {
            try fields.map { PostgreSQLStoreConnection.indexed(SortedColumn(column: try info.column(of: $0))) }
        }
        let list = try columns(fields.keys) + ["id"] + columns(fields.filters)
        return "(\(list.joined(separator: ", ")))\(fields.areColumns ? " INCLUDE (publicRead)" : "")"
    }
}

extension IndexFields {
    /// Whether all are columns of the class's table, and none a value of the document.
    var areColumns: Bool { all.allSatisfy { BuiltInField(rawValue: $0) != nil } }
}
