import ParseProtocol
import Synchronization

@testable import MoveIn

/// The reader of pg_dump's text.
struct DumpTarget: FuzzTarget {
    let name = "dump"
    let testInputs = 1500
    let dictionary = [
        "COPY public.\"Odd\" (\"objectId\", text) FROM stdin;\n", "\\.\n", "\\N", "\t", "\\x41", "\\101", "\\", "''",
        "'",
        "E'", "\\'", "\"", "\"\"", "$$", "$a$", "--", ";", "(", ")", ",", "::", "NULL", "-", "1e+15", "NaN",
        "INSERT INTO public.\"Odd\" VALUES ('a', NULL);\n", "{}", "{\"a,\\\"\",b}", "((0,0),(1,0))", "(1,2)", "[]",
        "2026-11-27 12:30:39.1+00", "infinity", "0044-03-15 00:00:00+00 BC", "text[]", "jsonb", "ATOMIC", "END",
        "SET standard_conforming_strings = off;\n", "-- PostgreSQL database dump complete\n", "\u{301}",
    ]

    private static let schema = #"{"fields": {"c0": {"type": "Pointer", "targetClass": "Odd"}}}"#
    private static let types = [
        "text", "text[]", "timestamp with time zone", "jsonb", "boolean", "double precision", "point", "polygon",
    ]
    private static let values = [
        "a1", "it's", "back\\slash", "tab\tline\n", "{*,\"role:a b\"}", "{}", "2026-11-27 12:30:39.116+00", "[1, null]",
        "{\"a\": {\"__type\": \"Date\"}}", "t", "f", "1e+15", "-3.5", "(30.98,-23.25)", "((0,0),(1,0),(1,1))", "",
    ]

    func generate(_ random: inout Seeded) -> [UInt8] {
        var columns: [(name: String, type: String)] = [("objectId", "text")]
        for index in 0..<random.below(5) { columns.append(("c\(index)", random.pick(Self.types))) }
        columns.append(
            random.pick([("_rperm", "text[]"), ("updatedAt", "timestamp with time zone"), ("x\"y", "text")]))
        func quoted(_ name: String) -> String { "\"\(name.replacing("\"", with: "\"\""))\"" }
        let defined = columns.map { "    \(quoted($0.name)) \($0.type)" }.joined(separator: ",\n")
        let names = columns.map { quoted($0.name) }.joined(separator: ", ")
        var text = """
            SET client_encoding = 'UTF8';
            CREATE TABLE public."Odd" (
            \(defined)
            );
            CREATE TABLE public."_SCHEMA" (
                "className" character varying(120) NOT NULL,
                schema jsonb
            );

            """
        let isCopied = random.chance(50)
        if isCopied { text += "COPY public.\"Odd\" (\(names)) FROM stdin;\n" }
        for row in 0..<random.below(6) {
            let values = columns.map { $0.name == "objectId" ? "id\(row)" : random.pick(Self.values) }
            let fields = values.map { value -> String in
                if random.chance(10) { return isCopied ? "\\N" : "NULL" }
                if !isCopied { return "'\(value.replacing("'", with: "''"))'" }
                return value.replacing("\\", with: "\\\\").replacing("\t", with: "\\t").replacing("\n", with: "\\n")
            }
            text +=
                isCopied
                ? fields.joined(separator: "\t") + "\n"
                : "INSERT INTO public.\"Odd\" VALUES (\(fields.joined(separator: ", ")));\n"
        }
        if isCopied { text += "\\.\n" }
        text += """
            INSERT INTO public."_SCHEMA" VALUES ('Odd', '\(Self.schema)');
            -- PostgreSQL database dump complete

            """
        return Array(text.utf8)
    }

    func run(_ input: [UInt8]) async throws -> String {
        let sink = Sink()
        do {
            let server = try DumpedServer(DumpSource(path: "dump.sql", form: .memory(input)))
            for moved in try server.classes() { try await server.read(moved.name, since: nil, into: sink) }
            return sink.counts.withLock { "\($0)" }
        } catch let error as MoveInError {
            return "\(error.description.suffix(40))"
        }
    }

    /// Counts rows and refusals, and requires that each row is JSON.
    private final class Sink: RowSink {
        let counts = Mutex((rows: 0, refusals: 0))

        func take(_ rows: [MovedRow]) throws {
            for row in rows {
                let object = JSON.object(row.fields)
                try require(!row.objectId.isEmpty, "A row has no id: \(object.serializedText)")
                try require(try JSON(parsing: object.serialized) == object, "A row differs: \(object.serializedText)")
            }
            counts.withLock { $0.rows += rows.count }
        }

        func refuse(_ refusal: RefusedRow) throws {
            try require(!refusal.reason.isEmpty, "A refusal has no reason.")
            counts.withLock { $0.refusals += 1 }
        }
    }
}
