import CSQLite

/// A prepared statement. It belongs to one connection and is used by one thread at a time.
///
/// Columns are read directly from SQLite, so that a read does not pay for a row object.
final class SQLiteStatement: StoreStatement {
    let pointer: OpaquePointer
    private let handle: OpaquePointer
    let parameterCount: Int32
    /// The number of queries that used it since its last slow run.
    var uses = 0
    /// The parameter that a `RowSet` is bound to.
    var rowSetIndex: Int32?

    init(_ sql: String, _ handle: OpaquePointer) throws {
        var pointer: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &pointer, nil)
        guard code == SQLITE_OK, let pointer else { throw SQLiteStatement.error(code, handle) }
        self.pointer = pointer
        self.handle = handle
        parameterCount = sqlite3_bind_parameter_count(pointer)
    }

    deinit { sqlite3_finalize(pointer) }

    /// Steps to the next row.
    /// - Returns: false when there is none.
    func step() throws -> Bool {
        switch sqlite3_step(pointer) {
        case SQLITE_ROW: return true
        case SQLITE_DONE: return false
        case let code:
            let error = SQLiteStatement.error(code, handle)
            if code & 0xFF == SQLITE_INTERRUPT { uses = Self.slowRunPenalty }
            reset()
            throw error
        }
    }

    func reset() {
        sqlite3_reset(pointer)
        // SQLite keeps bound values until the next run, and a cached statement may never run again.
        guard let index = rowSetIndex else { return }
        sqlite3_bind_null(pointer, index)
        rowSetIndex = nil
    }

    func insert() throws -> Int64 {
        _ = try step()
        reset()
        return sqlite3_last_insert_rowid(handle)
    }

    /// Instructions of SQLite's virtual machine since the last call.
    func takeSteps() -> Int { Int(sqlite3_stmt_status(pointer, SQLITE_STMTSTATUS_VM_STEP, 1)) }

    static func error(_ code: Int32, _ handle: OpaquePointer) -> StoreError {
        let message = String(cString: sqlite3_errmsg(handle))
        // "disk I/O error" and "unable to open database file" do not tell a full disk from one that is read-only.
        guard [SQLITE_IOERR, SQLITE_CANTOPEN].contains(code & 0xFF),
            let cause = StoreError.resultCode(of: satchel_system_error(handle, code)), cause != SQLITE_IOERR
        else { return StoreError(resultCode: code, message: message) }
        return StoreError(systemError: satchel_system_error(handle, code), message)
    }
}

// MARK: - Parameters

extension SQLiteStatement {
    /// SQLite copies the bound bytes (`SQLITE_TRANSIENT`).
    private static let copied = unsafeBitCast(OpaquePointer(bitPattern: -1), to: sqlite3_destructor_type.self)

    /// Binds the parameter with this number (from 1); a number that the statement does not use is ignored.
    ///
    /// A failed bind must be reported: the parameter would keep the value of the last run, which may be another
    /// caller's.
    /// - Throws: `StoreError` for a value that SQLite does not accept: too many bytes (SQLITE_TOOBIG) or no memory
    ///   (SQLITE_NOMEM).
    func bind(_ value: SQLValue, at index: Int32) throws {
        guard index <= parameterCount else { return }
        switch value {
        case .null: try check(sqlite3_bind_null(pointer, index))
        case .int(let value): try check(sqlite3_bind_int64(pointer, index, value))
        case .real(let value): try check(sqlite3_bind_double(pointer, index, value))
        case .text(let value): try bind(value, at: index)
        case .blob(let value):
            // An empty array has no address, and a null address would bind NULL.
            if value.isEmpty { return try check(sqlite3_bind_zeroblob(pointer, index, 0)) }
            try check(sqlite3_bind_blob64(pointer, index, value, UInt64(value.count), SQLiteStatement.copied))
        }
    }

    func bind(_ text: String, at index: Int32) throws {
        guard index <= parameterCount else { return }
        var text = text
        try check(text.withUTF8 { bind(UnsafeRawBufferPointer($0), at: index) })
    }

    /// Binds UTF-8 bytes as text.
    func bind(utf8 bytes: [UInt8], at index: Int32) throws {
        guard index <= parameterCount else { return }
        try check(bytes.withUnsafeBytes { bind($0, at: index) })
    }

    private func bind(_ text: UnsafeRawBufferPointer, at index: Int32) -> Int32 {
        guard let base = text.bindMemory(to: CChar.self).baseAddress else {
            return sqlite3_bind_text(pointer, index, "", 0, SQLiteStatement.copied)
        }
        return sqlite3_bind_text64(pointer, index, base, UInt64(text.count), SQLiteStatement.copied, UInt8(SQLITE_UTF8))
    }

    /// Binds the value in a column of another statement's current row, in its stored form.
    func bind(column: Int32, of source: any StoreStatement, at index: Int32) throws {
        guard let source = source as? SQLiteStatement else { return try bind(source.value(column), at: index) }
        try check(sqlite3_bind_value(pointer, index, sqlite3_column_value(source.pointer, column)))
    }

    func bind(_ value: Int64, at index: Int32) throws {
        guard index <= parameterCount else { return }
        try check(sqlite3_bind_int64(pointer, index, value))
    }

    /// - Throws: `StoreError` for any result code other than SQLITE_OK.
    func check(_ code: Int32) throws {
        guard code == SQLITE_OK else { throw SQLiteStatement.error(code, handle) }
    }
}

// MARK: - Columns

extension SQLiteStatement {
    /// The text of a column of the current row, valid until the next step.
    func bytes(_ column: Int32) -> UnsafeBufferPointer<UInt8> {
        guard let start = sqlite3_column_text(pointer, column) else { return UnsafeBufferPointer(start: nil, count: 0) }
        return UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column)))
    }

    func int(_ column: Int32) -> Int64 { sqlite3_column_int64(pointer, column) }
    func real(_ column: Int32) -> Double { sqlite3_column_double(pointer, column) }

    var columnNames: [String] {
        (0..<sqlite3_column_count(pointer)).map { sqlite3_column_name(pointer, $0).map { String(cString: $0) } ?? "" }
    }

    func value(_ column: Int32) -> SQLValue {
        switch sqlite3_column_type(pointer, column) {
        case SQLITE_INTEGER: return .int(int(column))
        case SQLITE_FLOAT: return .real(real(column))
        case SQLITE_TEXT: return .text(text(column))
        case SQLITE_BLOB:
            let start = sqlite3_column_blob(pointer, column)
            return .blob(Array(UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column)))))
        default: return .null
        }
    }
}
