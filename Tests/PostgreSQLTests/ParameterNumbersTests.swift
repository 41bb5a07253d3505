import PostgreSQL
import Testing

/// The parameter numbers in an SQL text, without a server.
@Suite struct ParameterNumbersTests {
    @Test(
        arguments: [
            ("SELECT 1", []), ("SELECT $1, $2", [1, 2]), ("SELECT $3 + $3", [3]), ("SELECT a$1, $2", [2]),
            ("SELECT 'costs $1', $2", [2]), ("SELECT 'it''s $1', $2", [2]), (#"SELECT E'\'$1', $2"#, [2]),
            (#"SELECT '\', $1"#, [1]), (#"SELECT "a $1", $2"#, [2]), ("SELECT $$ $1 $$, $2", [2]),
            ("SELECT $tag$ $1 $$ $2 $tag$, $3", [3]), ("SELECT 1 -- $1\n, $2", [2]),
            ("SELECT /* $1 /* $2 */ $3 */ $4", [4]), ("SELECT $1::text || $10", [1, 10]),
            ("SELECT $0, $65536, $99999999999999999999", []), ("SELECT 'open $1", []), ("SELECT $", []),
            ("SELECT /* open $1", []), ("SELECT $a$ open $1", []), (#"SELECT E'open\"#, []),
        ] as [(String, Set<Int>)])
    func areThoseOutsideOfLiteralsNamesAndComments(sql: String, numbers: Set<Int>) {
        #expect(ParameterNumbers(of: sql).used == numbers)
    }

    @Test func theCountIsTheLargestNumber() {
        #expect(ParameterNumbers(of: "SELECT $7, $2").count == 7)
        #expect(ParameterNumbers(of: "SELECT 1").count == 0)
    }
}
