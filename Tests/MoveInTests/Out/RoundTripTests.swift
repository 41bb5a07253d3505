import ParseProtocol
import TestSupport
import Testing

@testable import MoveIn

/// A database that a real Parse Server wrote moves in, and comes out again as it was.
@Suite struct RoundTripTests {
    /// What does not come back as it was. Everything else of the source does.
    fileprivate enum Exception: String, CaseIterable {
        case sessions = "Satchel keeps no tokens, and without its token a session is of no use."
        case deskRole = "A role of Satchel's desk stays out, with its members."
        case ownRows = "The suite has its first admin, the roles of its desk, and its own classes."
        case ownFields = "Satchel fills fields of its own."
        case ownedRows = "Customers' rows without permissions, which everyone could change, get their owners'."
        case price = "--map rounds a price that nobody can pay."
        case link = "Satchel keeps the id of a link, and not the provider's token."
        case address = "Files stay: one in an array has its address of today."
        case order = "Lists of permissions have no order."
        case schema = "Satchel's own classes have its permissions, and open permissions are written down."
        case hookId = "MongoDB gives webhooks an id."
    }

    /// Rows by table, then by id, without nulls.
    private typealias Rows = [String: [String: [String: JSON]]]

    @Test(.timeLimit(.minutes(15))) func whatMovedInMovesOutAsItWas() async throws {
        try await Suite.with { suite in
            let move = try await FixtureMove(suite)
            try await move.moveIn()

            let source = try await ParseServerFixture.database()
            let file = "\(move.folder)/out.sql"
            try await move.moveOut(to: "postgresql:\(file)")
            let copy = try await TestSupport.PostgreSQLServer.shared.newDatabase()
            _ = try await Command.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", copy, "-f", file])
            let (before, tables) = (try await Self.tables(source), try await Self.tables(copy))
            #expect(before["Book"]?.count == 40)
            let (types, newTypes) = (try await Self.types(source), try await Self.types(copy))
            for (column, type) in types where before[column.table]?.isEmpty == false {
                #expect(newTypes[column] == type, "\(column)")
            }
            Self.compare(before, tables, unmet: [.hookId])

            let folder = "\(move.folder)/dump"
            try await move.moveOut(to: "mongodump:\(folder)")
            let old = try #require(try PostgreSQLDump.open(ParseServerFixture.dump))
            let new = try #require(try MongoDump.open(folder, prefix: ""))
            Self.compare(try await Self.rows(old), try await Self.rows(new), unmet: [.order])
        }
    }

    /// - Parameter unmet: exceptions that the form does not need.
    private static func compare(_ old: Rows, _ new: Rows, unmet: Set<Exception>) {
        var met: Set<Exception> = []
        for (table, rows) in old where !rows.isEmpty {
            for (id, row) in rows {
                if let reason = Exception(staying: row, of: table) {
                    met.insert(reason)
                    #expect(new[table]?[id] == nil, "\(table) \(id)")
                    continue
                }
                guard let copy = new[table]?[id] else {
                    Issue.record("\(table) \(id) is missing.")
                    continue
                }
                for column in Set(row.keys).union(copy.keys) where row[column] != copy[column] {
                    let reason = Exception(table, column, row[column], copy[column])
                    let texts = [row[column], copy[column]].map { $0?.serializedText ?? "nothing" }
                    #expect(reason != nil, "\(table) \(id) \(column): was \(texts[0]), is \(texts[1])")
                    if let reason { met.insert(reason) }
                }
            }
            let added = Set((new[table] ?? [:]).keys).subtracting(rows.keys)
            guard !added.isEmpty else { continue }
            met.insert(.ownRows)
            #expect(Exception.ownTables.contains(table), "\(table) has also \(added.sorted())")
        }
        #expect(met == Set(Exception.allCases).subtracting(unmet), "An exception that is not met is none.")
    }

    // MARK: PostgreSQL

    /// Rows as PostgreSQL stores them.
    private static func tables(_ url: String) async throws -> Rows {
        var rows: Rows = [:]
        let names = try await lines("SELECT to_jsonb(tablename) FROM pg_tables WHERE schemaname = 'public'", url)
        for table in names.compactMap(\.stringValue) {
            let found = try await lines("SELECT to_jsonb(t) FROM public.\"\(table)\" t", url)
            rows[table] = byId(found.compactMap { $0.objectValue?.filter { !$0.value.isNull } }, table)
        }
        return rows
    }

    private struct Column: Hashable {
        let table: String
        let name: String
    }

    private static func types(_ url: String) async throws -> [Column: String] {
        let found = try await lines(
            """
            SELECT jsonb_build_array(table_name, column_name, data_type) FROM information_schema.columns
            WHERE table_schema = 'public'
            """, url)
        let texts = found.map { ($0.arrayValue ?? []).compactMap(\.stringValue) }.filter { $0.count == 3 }
        return Dictionary(texts.map { (Column(table: $0[0], name: $0[1]), $0[2]) }) { $1 }
    }

    private static func lines(_ sql: String, _ url: String) async throws -> [JSON] {
        let text = try await Command.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url, "-c", sql])
        return try text.split(separator: "\n").map { try JSON(parsing: String($0)) }
    }

    // MARK: MongoDB

    /// Rows in the form of REST, and the classes as rows of `_SCHEMA`.
    private static func rows(_ server: any OldServer) async throws -> Rows {
        var rows: Rows = [:]
        for schema in try await server.classes() {
            let read = try await server.read(schema.name)
            #expect(await read.refusals.isEmpty, "\(schema.name)")
            rows[schema.name] = byId(await read.rows.map(\.fields), schema.name)
            guard schema.fields["ACL"] != nil else { continue }
            let stored: JSON = [
                "className": .string(schema.name),
                "fields": .object(schema.fields.filter { schema.name != "_User" || $0.key != "password" }),
                "classLevelPermissions": schema.classLevelPermissions ?? .null,
                "indexes": .object(schema.indexes.filter { $0.key != "_id_" }),
            ]
            let row: [String: JSON] = ["className": .string(schema.name), "schema": stored]
            rows["_SCHEMA", default: [:]][schema.name] = row
        }
        return rows
    }

    private static func byId(_ rows: [[String: JSON]], _ table: String) -> [String: [String: JSON]] {
        let names =
            switch table {
            case "_Hooks": ["functionName", "className", "triggerName"]
            case "_SCHEMA": ["className"]
            case _ where table.hasPrefix("_Join:"): ["owningId", "relatedId"]
            default: ["objectId"]
            }
        return Dictionary(rows.map { row in (names.compactMap { row[$0]?.stringValue }.joined(separator: ":"), row) }) {
            $1
        }
    }
}

extension RoundTripTests.Exception {
    /// Tables in which the suite has rows of its own.
    static let ownTables: Set<String> = ["_User", "_Role", "_Join:users:_Role", "_Join:roles:_Role", "_SCHEMA"]
    private static let ownedTables: Set<String> = ["OrderItem", "PaymentMethod", "ProductReview"]
    private static let permissions: Set<String> = ["_rperm", "_wperm", "ACL"]
    private static let deskRoleId: JSON = "HHUq0VAMEh"

    /// Why a row stays behind.
    init?(staying row: [String: JSON], of table: String) {
        if table == "_Session" {
            self = .sessions
        } else if [row["objectId"], row["owningId"]].contains(Self.deskRoleId) {
            self = .deskRole
        } else {
            return nil
        }
    }

    /// Why a value differs.
    init?(_ table: String, _ column: String, _ old: JSON?, _ new: JSON?) {
        switch (table, column) {
        case ("_Hooks", "objectId") where old == nil: self = .hookId
        case ("_SCHEMA", "schema") where Self.isSameSchema(old ?? [:], new ?? [:]): self = .schema
        case ("Product", "unitPrice") where Self.isNear(old, new): self = .price
        case ("_User", "authData") where Self.ids(old) == new?.objectValue: self = .link
        case (_, _) where Self.permissions.contains(column):
            if old == nil {
                guard Self.ownedTables.contains(table) else { return nil }
                self = .ownedRows
            } else {
                guard let before = old?.arrayValue, let after = new?.arrayValue, before.count == after.count,
                    Set(before) == Set(after)
                else { return nil }
                self = .order
            }
        case (_, _) where old == nil && Self.isOwn(column, table): self = .ownFields
        default:
            guard let old, let new, Self.withoutAddresses(old) == Self.withoutAddresses(new) else { return nil }
            self = .address
        }
    }

    private static func isOwn(_ column: String, _ table: String) -> Bool {
        SuiteFields.added[table]?.contains(column) == true || SuiteFields.own[table]?[column] != nil
    }

    private static func ids(_ links: JSON?) -> [String: JSON]? {
        links?.objectValue?.mapValues { link -> JSON in ["id": link["id"] ?? .null] }
    }

    private static func isNear(_ old: JSON?, _ new: JSON?) -> Bool {
        guard let old = old?.doubleValue, let new = new?.doubleValue else { return false }
        return abs(old - new) < 0.01
    }

    private static func withoutAddresses(_ value: JSON) -> [String: JSON] {
        FileValues.renamed(["value": value]) { $0.name }
    }

    /// Whether the new schema has the fields and indexes of the old one, and grants the same.
    private static func isSameSchema(_ old: JSON, _ new: JSON) -> Bool {
        for part in ["fields", "indexes"] {
            let isKept = (old[part]?.objectValue ?? [:]).allSatisfy { new[part]?[$0.key] == $0.value }
            guard isKept else { return false }
        }
        let isDefined = SuiteFields.definedClasses.contains(new["className"]?.stringValue ?? "")
        return isDefined || granted(old) == granted(new)
    }

    /// Permissions without parts that grant and protect nothing. Without any, everyone has each right.
    private static func granted(_ schema: JSON) -> [String: JSON] {
        guard let permissions = schema["classLevelPermissions"]?.objectValue else {
            let rights = ["find", "get", "count", "create", "update", "delete", "addField"]
            return Dictionary(rights.map { ($0, ["*": true] as JSON) }) { $1 }
        }
        return permissions.filter { !nothing.contains($0.value) }
    }

    private static let nothing: [JSON] = [[], [:], ["*": []]]
}
