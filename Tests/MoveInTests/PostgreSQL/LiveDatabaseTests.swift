import Foundation
import ParseProtocol
import TestSupport
import Testing

@testable import MoveIn

/// A database on a running server, and what `pg_dump` makes of it.
@Suite struct LiveDatabaseTests {
    private static func run(_ sql: String, _ url: String) async throws {
        _ = try await Command.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql])
    }

    @Test func itEqualsWhatParseServerAnswered() async throws {
        let server = try LiveDatabase(try await ParseServerFixture.database())
        #expect(server.name.hasPrefix("PostgreSQL database test_"))
        try await ParseServerFixture.check(server)
    }

    @Test func onlyRowsThatChangedSinceATimeAreRead() async throws {
        let url = try await ParseServerFixture.database()
        let server = try LiveDatabase(url)
        try await Self.run(
            """
            UPDATE "Book" SET "updatedAt" = '2030-01-01 02:00:00.5+02' WHERE "objectId" = 'XMezzkG7dK';
            UPDATE "Book" SET "updatedAt" = '2029-12-31 23:59:59.999+00' WHERE "objectId" = 'FwezwbV5v8';
            """, url)
        let since = try #require(Timestamp(iso: "2030-01-01T00:00:00.000Z")).milliseconds
        let books = try await ParseServerFixture.rows("Book", of: server, since: since)
        #expect(books.map(\.objectId) == ["XMezzkG7dK"])
        #expect(books.first?.updatedAt == since + 500)
        let relations = try await ParseServerFixture.rows("_Join:roles:_Role", of: server, since: since)
        #expect(relations.count == 1, "A relation has no times.")
    }

    @Test func aRowThatParseCannotHoldIsRefused() async throws {
        let url = try await ParseServerFixture.database()
        try await Self.run(
            """
            UPDATE "Book" SET price = 'NaN' WHERE "objectId" = 'XMezzkG7dK';
            UPDATE "Book" SET published = 'infinity' WHERE "objectId" = 'FwezwbV5v8';
            """, url)
        let sink = RowKeeper()
        try await LiveDatabase(url).read("Book", since: nil, into: sink)
        #expect(sink.rows.count == 38)
        #expect(Set(sink.refusals.compactMap(\.objectId)) == ["XMezzkG7dK", "FwezwbV5v8"])
        #expect(sink.refusals.allSatisfy { $0.place.description == "table Book" })
        #expect(sink.refusals.contains { $0.reason.contains("price") && $0.reason.contains("NaN") })
    }

    /// PostgreSQL cuts names off after 63 bytes.
    @Test func longNamesAreReadWhole() async throws {
        let relation = "_Join:subscribedNewsletterCustomers:PromotionalCampaignRecipients"
        let className = String(repeating: "C", count: 70)
        let url = try await ParseServerFixture.database()
        let fields = #"{"subscribedNewsletterCustomers": {"type": "Relation", "targetClass": "_User"}}"#
        try await Self.run(
            """
            INSERT INTO "_SCHEMA" VALUES
                ('PromotionalCampaignRecipients', '{"fields": \(fields)}', true), ('\(className)', '{}', true);
            CREATE TABLE "\(relation)" ("relatedId" text, "owningId" text);
            INSERT INTO "\(relation)" VALUES ('u1', 'r1');
            CREATE TABLE "\(className)" ("objectId" text);
            INSERT INTO "\(className)" VALUES ('c1');
            """, url)
        let server = try LiveDatabase(url)
        #expect(try await server.classNamed(relation)?.rows == 1)
        #expect(try await server.classNamed(className)?.rows == 1)
        #expect(try await ParseServerFixture.rows(relation, of: server).map(\.objectId) == ["r1:u1"])
        #expect(try await ParseServerFixture.rows(className, of: server).map(\.objectId) == ["c1"])
    }

    @Test func aDatabaseOfOtherSoftwareIsRefused() async throws {
        let url = try await TestSupport.PostgreSQLServer.shared.newDatabase()
        try await Self.run("CREATE TABLE products(id integer)", url)
        let error = #expect(throws: MoveInError.self) { try LiveDatabase(url) }
        #expect(error?.description.contains("no table _SCHEMA") == true)
    }

    @Test func messagesNeverHaveThePassword() async throws {
        let server = try await TestSupport.PostgreSQLServer.shared
        for password in ["wrong-7d1c0e", "a%40b"] {
            let url = server.connection(
                to: "postgres", as: TestSupport.PostgreSQLServer.guarded, password: password)
            let error = #expect(throws: MoveInError.self) { try LiveDatabase(url) }
            #expect(error.map { !$0.description.contains(password) && !$0.description.contains("a@b") } == true)
        }
    }

    @Test(arguments: [
        [], ["--inserts"], ["--column-inserts"], ["--rows-per-insert=7"], ["--format=custom"], ["--format=tar"],
        ["--format=directory"], ["--compress=5"], ["--format=plain", "--no-owner"],
    ])
    func eachFormOfPGDumpGivesTheSame(_ options: [String]) async throws {
        let url = try await ParseServerFixture.database()
        // Another zone of times, and backslashes that are escapes.
        let settings = ["PGTZ": "Asia/Kolkata", "PGOPTIONS": "-c standard_conforming_strings=off"]
        try await TemporaryFile.with(nil, "app") { path in
            _ = try await Command.run(
                ["pg_dump", "--file=\(path)", "--dbname=\(url)"] + options, environment: settings)
            try await ParseServerFixture.check(try #require(try PostgreSQLDump.open(path)))
        }
    }

    @Test func aTruncatedArchiveIsRefused() async throws {
        let url = try await ParseServerFixture.database()
        try await TemporaryFile.with(nil, "app.dump") { path in
            _ = try await Command.run(["pg_dump", "--format=custom", "--file=\(path)", "--dbname=\(url)"])
            let bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            for count in [20, bytes.count / 2, bytes.count - 1] {
                try bytes.prefix(count).write(to: URL(fileURLWithPath: path))
                #expect(throws: MoveInError.self, "\(count) of \(bytes.count)") { try PostgreSQLDump.open(path) }
            }
        }
    }
}
