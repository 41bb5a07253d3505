import Compression
import Foundation
import ParseProtocol
import TestSupport
import Testing

@testable import MoveIn

/// Files of `pg_dump` as text.
@Suite struct PostgreSQLDumpTests {
    private static let fields: JSON = [
        "objectId": ["type": "String"], "createdAt": ["type": "Date"], "updatedAt": ["type": "Date"],
        "text": ["type": "String"], "owner": ["type": "Pointer", "targetClass": "_User"],
        "_rperm": ["type": "Array", "contents": ["type": "String"]],
    ]

    /// A dump of the class `Odd`, whose rows `rows` contains.
    private static func dump(_ rows: String, schema: String = "public") -> [UInt8] {
        let described = JSON.object(["className": "Odd", "fields": fields]).serializedText
        let text = """
            --
            -- PostgreSQL database dump
            --

            SET client_encoding = 'UTF8';
            SET standard_conforming_strings = on;

            CREATE FUNCTION public.f() RETURNS void LANGUAGE sql AS $_$ INSERT INTO x VALUES ('$1;'); $_$;

            CREATE TABLE \(schema)."Odd" (
                "objectId" text NOT NULL,
                "createdAt" timestamp with time zone DEFAULT now(),
                "updatedAt" timestamp with time zone,
                _rperm text[] DEFAULT '{}'::text[],
                text character varying(120),
                owner text,
                CONSTRAINT odd_check CHECK ((text <> ';'::text))
            );

            CREATE TABLE \(schema)."_SCHEMA" (
                "className" character varying(120) NOT NULL,
                schema jsonb,
                "isParseClass" boolean
            );

            \(rows)

            INSERT INTO \(schema)."_SCHEMA" VALUES ('Odd', '\(described)', true);

            --
            -- PostgreSQL database dump complete
            --


            """
        return Array(text.utf8)
    }

    private static func server(_ bytes: [UInt8]) throws -> DumpedServer {
        try DumpedServer(DumpSource(path: "odd.sql", form: .memory(bytes)))
    }

    private static func read(_ bytes: [UInt8]) async throws -> RowKeeper {
        let sink = RowKeeper()
        try await server(bytes).read("Odd", since: nil, into: sink)
        return sink
    }

    private static func problem(_ bytes: [UInt8]) -> String {
        do {
            _ = try server(bytes)
            return ""
        } catch {
            return "\(error)"
        }
    }

    private static let copied = #"""
        COPY public."Odd" ("objectId", "createdAt", "updatedAt", _rperm, text, owner) FROM stdin;
        a1\#t2026-11-27 12:30:39.1+00\#t2026-11-27 12:30:39.123456+05:30\#t{*,"role:a b"}\#ttab\t line\n back\\slash\#
        \#tu1
        a2\#t\N\#t\N\#t{}\#t\b\f\r\v \x41 \101\7 \q \\N\#t\N
        a3\#t\N\#t1883-01-01 00:00:00-07:52:58\#t\N\#t\#t
        \.
        """#
    private static let inserted = """
        INSERT INTO public."Odd" VALUES ('a1', '2026-11-27 12:30:39.1+00', '2026-11-27 12:30:39.123456+05:30',
            '{*,"role:a b"}', E'tab\\t line\\n back\\\\slash', 'u1');
        INSERT INTO public."Odd" ("objectId", _rperm, text) VALUES
        \t('a2', '{}'::text[], E'\\b\\f\\r\u{B} \\x41 \\101\\7 \\q \\\\N'),
        \t('a3', NULL, '');
        INSERT INTO public."Odd" ("objectId", "updatedAt") VALUES ('a4', NULL) ON CONFLICT DO NOTHING;
        """

    @Test func theFixtureEqualsWhatParseServerAnswered() async throws {
        let server = try #require(try PostgreSQLDump.open(ParseServerFixture.dump))
        #expect(server.name.hasSuffix("parse.sql.gz"))
        try await ParseServerFixture.check(server)
        try await TemporaryFile.with(try ParseServerFixture.dumpText(), "dump") { path in
            try await ParseServerFixture.check(try #require(try PostgreSQLDump.open(path)))
        }
    }

    @Test func escapesOfCOPYAreRead() async throws {
        let rows = try await Self.read(Self.dump(Self.copied)).rows
        try #require(rows.map(\.objectId) == ["a1", "a2", "a3"])
        let first: [String: JSON] = [
            "objectId": "a1", "createdAt": "2026-11-27T12:30:39.100Z", "updatedAt": "2026-11-27T07:00:39.123Z",
            "text": "tab\t line\n back\\slash", "owner": .pointer("_User", "u1"),
            // The table has no column _wperm.
            "ACL": ["*": ["read": true, "write": true], "role:a b": ["read": true]],
        ]
        #expect(rows[0].fields == first)
        let second: [String: JSON] = [
            "objectId": "a2", "text": "\u{8}\u{C}\r\u{B} A A\u{7} q \\N", "ACL": ["*": ["write": true]],
        ]
        #expect(rows[1].fields == second)
        #expect(rows[2].fields == ["objectId": "a3", "updatedAt": "1883-01-01T07:52:58.000Z", "text": ""])
    }

    @Test func formsOfINSERTAreRead() async throws {
        let rows = try await Self.read(Self.dump(Self.inserted)).rows
        let copied = try await Self.read(Self.dump(Self.copied)).rows
        try #require(rows.map(\.objectId) == ["a1", "a2", "a3", "a4"])
        #expect(rows[0].fields == copied[0].fields)
        #expect(rows[1].fields == copied[1].fields)
        #expect(rows[2].fields == ["objectId": "a3", "text": ""])
        #expect(rows[3].fields == ["objectId": "a4"])
    }

    @Test func aBackslashIsAnEscapeWhereTheDumpSaysSo() async throws {
        let rows = """
            INSERT INTO public."Odd" ("objectId", text) VALUES ('a1', 'it''s \\\\ \\' \\n');
            """
        let off = String(decoding: Self.dump(rows), as: UTF8.self)
            .replacing("standard_conforming_strings = on", with: "standard_conforming_strings = off")
        #expect(try await Self.read(Array(off.utf8)).rows.map { $0.fields["text"] } == ["it's \\ ' \n"])
    }

    @Test func aRowThatCannotBeReadIsRefusedWithItsPlace() async throws {
        let rows = #"""
            COPY public."Odd" ("objectId", "updatedAt", text) FROM stdin;
            a1\#tyesterday\#tx
            a2\#t\N\#tx\#ty
            \N\#t\N\#tx
            a4\#t\N\#t\xff
            a5\#t\N\#tgood
            a\t6\#t\N\#tx
            \.
            INSERT INTO public."Odd" ("objectId", text) VALUES (now(), 'x'), ('a7', 'x' || 'y'), ('a8', 'good');
            """#
        let bytes = Self.dump(rows)
        let text = String(decoding: bytes, as: UTF8.self)
        let start = try #require(text.firstRange(of: "a1\t")).lowerBound
        let sink = try await Self.read(bytes)
        #expect(sink.rows.map(\.objectId) == ["a5", "a8"])
        #expect(sink.refusals.map(\.objectId) == ["a1", "a2", nil, "a4", "a\t6", nil, nil])
        let offset = text.utf8.distance(from: text.startIndex, to: start)
        #expect(sink.refusals.first?.place == SourcePlace(file: "odd.sql", offset: offset))
        #expect(sink.refusals.first?.reason.contains("yesterday") == true)
    }

    @Test func aColumnMayHaveTheNameExclude() async throws {
        let rows = """
            COPY public."Odd" ("objectId", exclude) FROM stdin;
            a1\tt
            \\.
            INSERT INTO public."Odd" VALUES ('a2', NULL, NULL, NULL, 'x', 'u1', false);
            """
        let columns = "owner text,\n exclude boolean,\n EXCLUDE USING btree (text WITH =),\n EXCLUDE (text WITH =),"
        let text = String(decoding: Self.dump(rows), as: UTF8.self).replacing("owner text,", with: columns)
        let sink = try await Self.read(Array(text.utf8))
        #expect(sink.rows.map { $0.fields["exclude"] } == [true, false])
        #expect(sink.refusals.isEmpty)
    }

    /// PostgreSQL cuts names off after 63 bytes.
    @Test func longNamesAreReadWhole() async throws {
        let owner = "PromotionalCampaignRecipients"
        let relation = "_Join:subscribedNewsletterCustomers:\(owner)"
        let (className, field) = (String(repeating: "C", count: 70), String(repeating: "f", count: 70))
        let related: JSON = ["subscribedNewsletterCustomers": ["type": "Relation", "targetClass": "_User"]]
        let pointers: JSON = [field: ["type": "Pointer", "targetClass": "_User"]]
        func schema(_ name: String, _ fields: JSON) -> String {
            let text = JSON.object(["className": .string(name), "fields": fields]).serializedText
            return "INSERT INTO public.\"_SCHEMA\" VALUES ('\(name)', '\(text)', true);\n"
        }
        let tables = """
            CREATE TABLE public."\(relation.prefix(63))" ("relatedId" text, "owningId" text);
            INSERT INTO public."\(relation.prefix(63))" VALUES ('u1', 'r1');
            CREATE TABLE public."\(className.prefix(63))" ("objectId" text, "\(field.prefix(63))" text);
            INSERT INTO public."\(className.prefix(63))" VALUES ('c1', 'u1');

            """
        let rows = tables + schema(owner, related) + schema(className, pointers)
        let server = try Self.server(Self.dump(rows))
        let counts = Dictionary(try server.classes().map { ($0.name, $0.rows) }) { $1 }
        #expect(counts == ["Odd": 0, owner: 0, relation: 1, className: 1])
        #expect(try await ParseServerFixture.rows(relation, of: server).map(\.objectId) == ["r1:u1"])
        let objects = await (try await server.read(className)).objects
        #expect(objects == [["objectId": "c1", field: .pointer("_User", "u1")]])

        let twoRelations = try Self.server(Self.dump(rows + schema("\(owner.dropLast())z", related)))
        #expect(throws: MoveInError.self) { try twoRelations.classes() }
        let twoClasses = Self.problem(Self.dump(rows + schema(className + "x", pointers)))
        #expect(twoClasses.contains(className + "x"))
    }

    /// A truncated dump is refused, unless only the text after its last comment is missing.
    @Test(arguments: [PostgreSQLDumpTests.copied, PostgreSQLDumpTests.inserted])
    func aTruncatedDumpGivesNoWrongRow(_ rows: String) async throws {
        let bytes = Self.dump(rows)
        let whole = try await Self.read(bytes).rows
        var accepted = 0
        for count in 0..<bytes.count {
            do {
                let sink = try await Self.read(Array(bytes.prefix(count)))
                #expect(sink.rows == whole, "\(count) bytes")
                accepted += 1
            } catch {
                #expect(error is MoveInError, "\(count) bytes: \(error)")
            }
        }
        #expect(accepted < 10)
        let packed = try #require(Gzip.compressed(bytes + bytes))
        for count in stride(from: 20, to: packed.count, by: 7) {
            try await TemporaryFile.with(Array(packed.prefix(count)), "odd.sql.gz") { path in
                #expect(throws: MoveInError.self, "\(count) packed bytes") { try PostgreSQLDump.open(path) }
            }
        }
    }

    @Test func rowsComeInSmallPieces() async throws {
        let lines = (0..<1000).map { "a\($0)\t\(String(repeating: "x", count: 100))" }.joined(separator: "\n")
        let rows = "COPY public.\"Odd\" (\"objectId\", text) FROM stdin;\n\(lines)\n\\."
        let sink = try await Self.read(Self.dump(rows))
        #expect(sink.rows.map(\.objectId) == (0..<1000).map { "a\($0)" })
        #expect(sink.largest <= 200)
        let odd = try Self.server(Self.dump(rows)).classes().first { $0.name == "Odd" }
        #expect(odd?.rows == 1000)
        #expect(odd?.fields["_rperm"] == nil && odd?.fields["ACL"] == ["type": "ACL"])
        #expect(odd?.fields["owner"] == ["type": "Pointer", "targetClass": "_User"])
    }

    /// Names and values that look like the dump's own text.
    @Test func hostileNamesAndValuesAreOnlyText() async throws {
        let value = "');\n-- PostgreSQL database dump complete\n\\.\nCOPY public.\"Odd\" (text) FROM stdin;\n$$ /* \""
        let rows = """
            CREATE TABLE public."a"";
            COPY x" (
                "objectId" text,
                ");--" integer
            );
            INSERT INTO public."a"";
            COPY x" VALUES ('z', 1);
            INSERT INTO public.nothing DEFAULT VALUES;
            INSERT INTO public."Odd" ("objectId", text) VALUES ('a1', '\(value.replacing("'", with: "''"))');
            COPY public."Odd" ("objectId", text) FROM stdin;
            a2\t-- PostgreSQL database dump complete
            -- PostgreSQL database dump complete\tINSERT INTO x VALUES ('
            \\\\.\t\\\\.
            \\.
            """
        let sink = try await Self.read(Self.dump(rows))
        #expect(sink.rows.map(\.objectId) == ["a1", "a2", "-- PostgreSQL database dump complete", "\\."])
        #expect(sink.rows.first?.fields["text"] == .string(value))
        #expect(sink.refusals.isEmpty)
    }

    @Test func otherDumpsAreRefusedWithTheReason() throws {
        let empty = "-- PostgreSQL database dump\nCREATE TABLE a (id integer);\n-- PostgreSQL database dump complete\n"
        #expect(Self.problem(Array(empty.utf8)).contains("no table _SCHEMA"))
        let latin = String(decoding: Self.dump(""), as: UTF8.self).replacing("'UTF8'", with: "'LATIN1'")
        #expect(Self.problem(Array(latin.utf8)).contains("--encoding=UTF8"))
        let twice = Self.dump("") + Self.dump("")
        #expect(Self.problem(twice).contains("defined twice"))
        let two = Self.dump("", schema: "shop") + Self.dump("", schema: "test")
        #expect(Self.problem(two).contains("shop, test"))
        #expect(Self.problem(Self.dump("", schema: "shop") + Self.dump("")) == "", "The schema public is meant.")
        let data = "COPY public.\"_SCHEMA\" (schema) FROM stdin;\n{}\n\\.\n-- PostgreSQL database dump complete\n"
        #expect(Self.problem(Array(data.utf8)).contains("--data-only"))
    }

    @Test func otherFilesAreOfAnotherSource() async throws {
        let gzip = try #require(Gzip.compressed(Array(repeating: 65, count: 5000)))
        let others: [[UInt8]] = [Array("{\"results\": []}".utf8), [], [0x89, 0x50], gzip, [0x1F, 0x8B, 0]]
        for bytes in others {
            try await TemporaryFile.with(bytes, "file") { path in
                let opened = try PostgreSQLDump.open(path)
                #expect(opened == nil, "\(bytes.prefix(9))")
                let folder = try PostgreSQLDump.open(URL(fileURLWithPath: path).deletingLastPathComponent().path)
                #expect(folder == nil)
                let missing = try PostgreSQLDump.open(path + "x")
                #expect(missing == nil)
            }
        }
    }

    @Test func gzipIsReadFromAnyPlace() async throws {
        var random = Seeded(7)
        let bytes = (0..<300_000).map { _ in UInt8(truncatingIfNeeded: random.next() % 9 + 65) }
        // Two members, as tools that compress in parallel write them.
        let halves = try #require(Gzip.compressed(Array(bytes.prefix(100_000))))
        let rest = try #require(Gzip.compressed(Array(bytes.dropFirst(100_000))))
        func all(_ reader: GzipBytes) throws -> [UInt8] {
            var read: [UInt8] = []
            while case let chunk = try reader.next(), !chunk.isEmpty { read += chunk }
            return read
        }
        try await TemporaryFile.with(halves + rest, "bytes.gz") { path in
            let first = try GzipBytes(path, markBytes: 20_000)
            #expect(try all(first) == bytes)
            for offset in [0, 1, 99_999, 100_000, 250_000, 299_999, 300_000] {
                let again = try GzipBytes(path, from: offset, marks: first.marks)
                #expect(try all(again) == Array(bytes.dropFirst(offset)), "\(offset)")
            }
        }
    }
}
