import CSQLite

extension Regex {
    /// The type name of a bound pattern; SQLite compares it by content and keeps the address.
    nonisolated(unsafe) fileprivate static let pointerType: UnsafePointer<CChar> =
        UnsafeRawPointer(("satchel.regex" as StaticString).utf8Start).assumingMemoryBound(to: CChar.self)

    /// Registers `satchel_regex(pattern, text)` on a connection: 1 for a match, else 0, also for a value that is not a
    /// text.
    ///
    /// Thousands of matches fit between two calls of the progress handler, and each may take long. Each match therefore
    /// checks the limit itself. The limit lives as long as the connection.
    static func register(on handle: OpaquePointer, _ limit: TimeLimit) {
        sqlite3_create_function_v2(
            handle, "satchel_regex", 2, SQLITE_UTF8, Unmanaged.passUnretained(limit).toOpaque(),
            { context, _, arguments in
                guard let limit = TimeLimit.admitted(context) else { return }
                guard let arguments, let pattern = sqlite3_value_pointer(arguments[0], Regex.pointerType),
                    sqlite3_value_type(arguments[1]) == SQLITE_TEXT, let start = sqlite3_value_text(arguments[1])
                else {
                    sqlite3_result_int(context, 0)
                    return
                }
                let text = UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(arguments[1])))
                let regex = Unmanaged<Regex>.fromOpaque(pattern).takeUnretainedValue()
                do {
                    sqlite3_result_int(context, try regex.matches(text, limit) ? 1 : 0)
                } catch {
                    sqlite3_result_error_code(context, SQLITE_INTERRUPT)
                }
            }, nil, nil, nil)
    }
}

extension SQLiteStatement {
    /// Binds a pattern. The statement keeps it alive until another value is bound.
    func bind(_ regex: Regex, at index: Int32) throws {
        // SQLite releases the pattern even if it rejects it.
        try check(
            sqlite3_bind_pointer(
                pointer, index, Unmanaged.passRetained(regex).toOpaque(), Regex.pointerType,
                { pattern in if let pattern { Unmanaged<Regex>.fromOpaque(pattern).release() } }))
    }
}
