import CSQLite
import ParseProtocol

extension WordSearch {
    /// Makes `satchel_word_score(specification, text)` known to a connection: how well the text fits, NULL when it does
    /// not or is no text. The limit lives as long as the connection.
    static func register(on handle: OpaquePointer, _ limit: TimeLimit) {
        sqlite3_create_function_v2(
            handle, "satchel_word_score", 2, SQLITE_UTF8, Unmanaged.passUnretained(limit).toOpaque(),
            { context, _, arguments in
                if let limit = sqlite3_user_data(context),
                    !Unmanaged<TimeLimit>.fromOpaque(limit).takeUnretainedValue().admitsCall()
                {
                    return sqlite3_result_error_code(context, SQLITE_INTERRUPT)
                }
                guard let arguments, sqlite3_value_type(arguments[1]) == SQLITE_TEXT,
                    let text = sqlite3_value_text(arguments[1]),
                    let scorer = WordSearch.scorer(context, arguments[0]),
                    let score = scorer.score(of: String(cString: text))
                else {
                    sqlite3_result_null(context)
                    return
                }
                sqlite3_result_double(context, score)
            }, nil, nil, nil)
    }

    /// The scorer of the search in the first argument, made once for all rows: SQLite keeps it beside a parameter that
    /// does not change.
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
