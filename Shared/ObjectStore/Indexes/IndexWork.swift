import ParseProtocol

/// A server's next work on automatic indexes.
enum IndexWork: Sendable {
    /// - columns: the text after the table's name in `CREATE INDEX`.
    case build(id: Int64, table: String, columns: String)
    case drop(id: Int64)

    var id: Int64 {
        switch self {
        case .build(let id, _, _), .drop(let id): id
        }
    }

    /// The index's name in SQL.
    var index: String { "a\(id)" }
}

/// The outcome of such work.
enum IndexOutcome: Sendable {
    case done
    /// Values are too long for an index.
    case unfit
    /// The build was interrupted, or another process is working: retry later.
    case later
}

extension AutomaticIndex {
    /// Bytes of an object's values from which PostgreSQL may reject them in an index of several fields.
    private static let valueBytesMax = 2_500

    /// Whether this index may prevent an object from being saved. This holds until the index is removed.
    func isOvergrown(by document: [String: JSON]) -> Bool {
        guard state != .unwanted else { return false }
        return fields.all.reduce(0) { $0 + (document[$1]?.serialized.count ?? 0) } > Self.valueBytesMax
    }

    /// The columns of the index in PostgreSQL: its keys, then the order of creation, then the filters. An index of
    /// columns alone can count objects without reading them.
    func definition(_ info: ClassInfo) throws -> String {
        func columns(_ fields: [String]) throws -> [String] {
            try fields.map { PostgreSQLStoreConnection.indexed(SortedColumn(column: try info.column(of: $0))) }
        }
        let list = try columns(fields.keys) + ["id"] + columns(fields.filters)
        return "(\(list.joined(separator: ", ")))\(fields.areColumns ? " INCLUDE (publicRead)" : "")"
    }
}

extension IndexFields {
    /// Whether all fields are columns of the class's table instead of values in the document.
    var areColumns: Bool { all.allSatisfy { BuiltInField(rawValue: $0) != nil } }
}
