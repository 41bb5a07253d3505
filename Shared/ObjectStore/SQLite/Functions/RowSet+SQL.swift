import CSQLite

extension RowSet {
    /// The type name of a bound set; SQLite compares it by content and keeps the address.
    nonisolated(unsafe) fileprivate static let pointerType: UnsafePointer<CChar> =
        UnsafeRawPointer(("satchel.rows" as StaticString).utf8Start).assumingMemoryBound(to: CChar.self)

    /// Registers `satchel_among(rows, row)` on a connection: 1 for a row of the bound set, else 0.
    ///
    /// It does not check the time limit: a call takes nanoseconds, and SQLite's progress handler checks the limit.
    static func register(on handle: OpaquePointer) {
        sqlite3_create_function_v2(
            handle, "satchel_among", 2, SQLITE_UTF8, nil,
            { context, _, arguments in
                guard let arguments, let rows = sqlite3_value_pointer(arguments[0], RowSet.pointerType) else {
                    // Without a set a search would find nothing.
                    sqlite3_result_error_code(context, SQLITE_MISUSE)
                    return
                }
                let row = sqlite3_value_int64(arguments[1])
                let contains = Unmanaged<RowSet>.fromOpaque(rows).takeUnretainedValue().contains(row)
                sqlite3_result_int(context, contains ? 1 : 0)
            }, nil, nil, nil)
    }
}

extension SQLiteStatement {
    /// Binds a set of rows for one run: the statement keeps it alive until `reset`.
    func bind(_ rows: RowSet, at index: Int32) throws {
        // SQLite releases the set even if it rejects it.
        try check(
            sqlite3_bind_pointer(
                pointer, index, Unmanaged.passRetained(rows).toOpaque(), RowSet.pointerType,
                { rows in if let rows { Unmanaged<RowSet>.fromOpaque(rows).release() } }))
        rowSetIndex = index
    }
}
