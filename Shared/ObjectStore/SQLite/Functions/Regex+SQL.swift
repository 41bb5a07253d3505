import CSQLite

extension Regex {
    /// The name under which a pattern is bound; SQLite compares it by content and keeps the address.
    nonisolated(unsafe) fileprivate static let pointerType: UnsafePointer<CChar> =
        UnsafeRawPointer(("satchel.regex" as StaticString).utf8Start).assumingMemoryBound(to: CChar.self)

    /// Makes `satchel_regex(pattern, text)` known to a connection: 1 for a match, 0 for none and for anything but text.
    ///
    /// Some thousand matches lie between two calls of the progress handler, and each may take milliseconds; each
    /// therefore looks at the time itself. The limit lives as long as the connection.
    static func register(on handle: OpaquePointer, _ limit: TimeLimit) {
        sqlite3_create_function_v2(
            handle, "satchel_regex", 2, SQLITE_UTF8, Unmanaged.passUnretained(limit).toOpaque(),
            { context, _, arguments in
                if let limit = sqlite3_user_data(context),
                    !Unmanaged<TimeLimit>.fromOpaque(limit).takeUnretainedValue().admitsCall()
                {
                    sqlite3_result_error_code(context, SQLITE_INTERRUPT)
                    return
                }
                guard let arguments, let pattern = sqlite3_value_pointer(arguments[0], Regex.pointerType),
                    sqlite3_value_type(arguments[1]) == SQLITE_TEXT, let start = sqlite3_value_text(arguments[1])
                else {
                    sqlite3_result_int(context, 0)
                    return
                }
                let text = UnsafeBufferPointer(start: start, count: Int(sqlite3_value_bytes(arguments[1])))
                let regex = Unmanaged<Regex>.fromOpaque(pattern).takeUnretainedValue()
                sqlite3_result_int(context, regex.matches(text) ? 1 : 0)
            }, nil, nil, nil)
    }
}

extension SQLiteStatement {
    /// Binds a pattern, which the statement keeps alive until something else is bound.
    func bind(_ regex: Regex, at index: Int32) throws {
        // SQLite releases the pattern also when it does not take it.
        try check(
            sqlite3_bind_pointer(
                pointer, index, Unmanaged.passRetained(regex).toOpaque(), Regex.pointerType,
                { pattern in if let pattern { Unmanaged<Regex>.fromOpaque(pattern).release() } }))
    }
}
