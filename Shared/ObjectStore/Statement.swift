import GRDBSQLite

/// A prepared statement. Belongs to one connection and is used by one thread at a time.
///
/// GRDB opens, configures and closes connections; statements are run on SQLite directly, because a read must not
/// pay for a row object it does not need.
final class Statement {
    let pointer: OpaquePointer
    private let handle: OpaquePointer
    let parameterCount: Int32

    init(_ sql: String, _ handle: OpaquePointer) throws {
        var pointer: OpaquePointer?
        let code = sqlite3_prepare_v3(handle, sql, -1, UInt32(SQLITE_PREPARE_PERSISTENT), &pointer, nil)
        guard code == SQLITE_OK, let pointer else { throw Statement.error(code, handle) }
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
            let error = Statement.error(code, handle)
            sqlite3_reset(pointer)
            throw error
        }
    }

    func reset() { sqlite3_reset(pointer) }

    static func error(_ code: Int32, _ handle: OpaquePointer) -> StoreError {
        StoreError(resultCode: code, message: String(cString: sqlite3_errmsg(handle)))
    }
}

// MARK: - Parameters

extension Statement {
    /// SQLite copies what it is given (`SQLITE_TRANSIENT`).
    private static let copied = unsafeBitCast(OpaquePointer(bitPattern: -1), to: sqlite3_destructor_type.self)

    /// Binds the parameter with this number (from 1); a number the statement does not use is ignored.
    func bind(_ value: SQLValue, at index: Int32) {
        guard index <= parameterCount else { return }
        switch value {
        case .null: sqlite3_bind_null(pointer, index)
        case .int(let value): sqlite3_bind_int64(pointer, index, value)
        case .real(let value): sqlite3_bind_double(pointer, index, value)
        case .text(let value): bind(value, at: index)
        case .blob(let value): sqlite3_bind_blob(pointer, index, value, Int32(value.count), Statement.copied)
        }
    }

    func bind(_ text: String, at index: Int32) {
        guard index <= parameterCount else { return }
        var text = text
        _ = text.withUTF8 { bytes in
            bytes.withMemoryRebound(to: CChar.self) { characters in
                // An empty string may have no address, and a null address would bind NULL.
                if let base = characters.baseAddress {
                    sqlite3_bind_text(pointer, index, base, Int32(characters.count), Statement.copied)
                } else {
                    sqlite3_bind_text(pointer, index, "", 0, Statement.copied)
                }
            }
        }
    }

    /// Binds UTF-8 bytes as text.
    func bind(utf8 bytes: [UInt8], at index: Int32) {
        guard index <= parameterCount else { return }
        bytes.withUnsafeBytes { buffer in
            _ = sqlite3_bind_text(
                pointer, index, buffer.bindMemory(to: CChar.self).baseAddress, Int32(buffer.count), Statement.copied)
        }
    }

    func bind(_ value: Int64, at index: Int32) {
        guard index <= parameterCount else { return }
        sqlite3_bind_int64(pointer, index, value)
    }

    func bind(_ arguments: [SQLValue]) {
        for (index, argument) in arguments.enumerated() { bind(argument, at: Int32(index + 1)) }
    }
}

// MARK: - Columns

extension Statement {
    /// The text of a column of the current row, valid until the next step.
    func bytes(_ column: Int32) -> UnsafeBufferPointer<UInt8> {
        guard let start = sqlite3_column_text(pointer, column) else { return UnsafeBufferPointer(start: nil, count: 0) }
        return UnsafeBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, column)))
    }

    func text(_ column: Int32) -> String { String(decoding: bytes(column), as: UTF8.self) }
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
