import CSQLite
import ParseProtocol

extension WordSearch {
    /// Registers `satchel_word_score(specification, text)` on a connection: the rank of the text; NULL when it does not
    /// match or is no text. The limit lives as long as the connection.
    static func register(on handle: OpaquePointer, _ limit: TimeLimit) {
        sqlite3_create_function_v2(
            handle, "satchel_word_score", 2, SQLITE_UTF8, Unmanaged.passUnretained(limit).toOpaque(),
            { context, _, arguments in
                guard let limit = TimeLimit.admitted(context) else { return }
                guard let arguments, sqlite3_value_type(arguments[1]) == SQLITE_TEXT,
                    let text = sqlite3_value_text(arguments[1]),
                    let scorer = WordSearch.scorer(context, arguments[0])
                else { return sqlite3_result_null(context) }
                do {
                    guard let score = try scorer.score(of: String(cString: text), limit) else {
                        return sqlite3_result_null(context)
                    }
                    sqlite3_result_double(context, score)
                } catch {
                    sqlite3_result_error_code(context, SQLITE_INTERRUPT)
                }
            }, nil, nil, nil)
    }

    /// The scorer of the search in the first argument, created once for all rows: SQLite keeps it next to a parameter
    /// that does not change.
    private static func scorer(_ context: OpaquePointer?, _ argument: OpaquePointer?) -> Scorer? {
        if let kept = sqlite3_get_auxdata(context, 0) {
            return Unmanaged<Scorer>.fromOpaque(kept).takeUnretainedValue()
        }
        guard let text = sqlite3_value_text(argument), let json = try? JSON(parsing: String(cString: text)),
            let search = WordSearch(specification: json)
        else { return nil }
        let scorer = Scorer(search)
        sqlite3_set_auxdata(context, 0, Unmanaged.passRetained(scorer).toOpaque()) { kept in
            if let kept { Unmanaged<Scorer>.fromOpaque(kept).release() }
        }
        return scorer
    }
}
