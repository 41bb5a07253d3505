import Compression
import Foundation
import ParseProtocol
import Synchronization
import TestSupport
import Testing

@testable import MoveIn

/// A database that a real Parse Server wrote, and what that server answered (Fixtures/README.md).
enum ParseServerFixture {
    static let dump = "\(checkoutDirectory)/Tests/MoveInTests/Fixtures/parse-server-8.2.2/parse.sql.gz"

    static func dumpText() throws -> [UInt8] { try unpacked("parse.sql.gz") }

    private static func unpacked(_ name: String) throws -> [UInt8] {
        let folder = URL(fileURLWithPath: dump).deletingLastPathComponent()
        let packed = try Data(contentsOf: folder.appendingPathComponent(name))
        return try Inflater.unpack(Array(packed), .gzip, bytesMax: 4 << 20)
    }

    /// A new database of the shared server with the fixture in it.
    static func database() async throws -> String {
        let url = try await TestSupport.PostgreSQLServer.shared.newDatabase()
        try await TemporaryFile.with(try dumpText(), "parse.sql") { path in
            _ = try await Command.run(["psql", "-XAtq", "-v", "ON_ERROR_STOP=1", "-d", url, "-f", path])
        }
        return url
    }

    /// Compares the rows and schemas that the source gives with the answers of Parse Server.
    static func check(_ server: any OldServer) async throws {
        let expected = try JSON(parsing: try unpacked("expected.json.gz"))
        let classes = Dictionary(try await server.classes().map { ($0.name, $0) }) { $1 }
        try checkSchemas(classes, expected)
        for (name, objects) in expected["classes"]?.objectValue ?? [:] {
            let wanted = objects.arrayValue ?? []
            let rows = try await rows(name, of: server)
            #expect(rows.count == wanted.count, "\(name)")
            #expect(classes[name]?.rows == wanted.count, "\(name)")
            let found = Dictionary(rows.map { ($0.objectId, $0) }) { $1 }
            for object in wanted {
                let row = try #require(found[object["objectId"]?.stringValue ?? ""])
                let shown = row.fields.filter { !$0.key.hasPrefix("_") }
                #expect(JSON.object(shown) == stored(object), "\(name) \(row.objectId)")
                let time = object["updatedAt"]?.stringValue.flatMap { Timestamp(iso: $0) }
                #expect(row.updatedAt == time?.milliseconds)
            }
        }
        try await checkRelations(server, expected)
        try await checkSecrets(server)
        let config = try await rows("_GlobalConfig", of: server)
        #expect(config.map { $0.fields["params"] } == [expected["config"]?["params"]])
        #expect(config.map { $0.fields["masterKeyOnly"] } == [expected["config"]?["masterKeyOnly"]])
        let hooks = try await rows("_Hooks", of: server)
        #expect(Set(hooks.map(\.objectId)) == ["ext", "Book:beforeSave"])
        #expect(classes["_Idempotency"] == nil && classes["_GraphQLConfig"] == nil)
        #expect(classes["_PushStatus"] == nil, "It has no rows.")
    }

    private static func checkSchemas(_ classes: [String: MovedClass], _ expected: JSON) throws {
        let schemas = expected["schemas"]?["results"]?.arrayValue ?? []
        let open = schemas.first { $0["className"] == "Author" }?["classLevelPermissions"]
        for schema in schemas {
            let name = schema["className"]?.stringValue ?? ""
            let moved = try #require(classes[name], "\(name)")
            #expect(JSON.object(moved.fields) == schema["fields"], "\(name)")
            #expect(moved.classLevelPermissions ?? open == schema["classLevelPermissions"], "\(name)")
            #expect(JSON.object(moved.indexes) == schema["indexes"] ?? [:], "\(name)")
        }
        #expect(classes["Book"]?.classLevelPermissions != nil)
        #expect(classes["Author"]?.classLevelPermissions == nil, "It is open.")
    }

    private static func checkRelations(_ server: any OldServer, _ expected: JSON) async throws {
        var found: [String: Set<String>] = [:]
        for (relation, name) in [("_Join:readers:Book", "Book"), ("_Join:users:_Role", "_Role")] {
            for row in try await rows(relation, of: server) {
                let (owner, related) = (row.fields["owningId"]?.stringValue, row.fields["relatedId"]?.stringValue)
                #expect(row.objectId == "\(owner ?? ""):\(related ?? "")")
                found["\(name).\(owner ?? "")", default: []].insert(related ?? "")
            }
        }
        let wanted = (expected["relations"]?.objectValue ?? [:]).mapValues { ids in
            Set((ids.arrayValue ?? []).compactMap(\.stringValue))
        }
        #expect(found == wanted)
        #expect(try await rows("_Join:roles:_Role", of: server).map(\.objectId) == ["eXoqrbttOT:JQj9yWH8K3"])
    }

    /// What REST never shows.
    private static func checkSecrets(_ server: any OldServer) async throws {
        let users = try await rows("_User", of: server)
        let hash = users.first { $0.objectId == "xLmY6Eb3EC" }?.fields["_hashed_password"]
        #expect(hash == "$2y$10$ZdWvWiqsmBM8Wjlewy1zrOzUvD7qx2T99f6S7LZKeojhPA2gqHlTK")
        let sessions = try await rows("_Session", of: server)
        #expect(sessions.allSatisfy { $0.fields["sessionToken"]?.stringValue?.hasPrefix("r:") == true })
    }

    static func rows(_ name: String, of server: any OldServer, since: Int64? = nil) async throws -> [MovedRow] {
        let sink = RowKeeper()
        try await server.read(name, since: since, into: sink)
        #expect(sink.refusals.isEmpty, "\(name) \(sink.refusals)")
        return sink.rows
    }

    /// An object of REST in the form of the source: without relations, and without the URLs of files in columns.
    private static func stored(_ object: JSON) -> JSON {
        var fields = object.objectValue ?? [:]
        for (name, value) in fields {
            if value.wireType == "Relation" { fields[name] = nil }
            if value.wireType == "File" { fields[name]?["url"] = nil }
        }
        return .object(fields)
    }
}

/// Keeps what a source reads.
final class RowKeeper: RowSink {
    private let kept = Mutex<(rows: [MovedRow], refusals: [RefusedRow], largest: Int)>(([], [], 0))

    var rows: [MovedRow] { kept.withLock { $0.rows } }
    var refusals: [RefusedRow] { kept.withLock { $0.refusals } }
    /// The largest number of rows that came at once.
    var largest: Int { kept.withLock { $0.largest } }

    func take(_ rows: [MovedRow]) {
        kept.withLock { kept in
            kept.rows += rows
            kept.largest = max(kept.largest, rows.count)
        }
    }

    func refuse(_ refusal: RefusedRow) { kept.withLock { $0.refusals.append(refusal) } }
}

/// A file in a new folder, for the time of a call.
enum TemporaryFile {
    /// - Parameter bytes: nil for no file yet.
    static func with(
        _ bytes: [UInt8]?, _ name: String, _ body: (_ path: String) async throws -> Void
    ) async throws {
        let folder = FileManager.default.temporaryDirectory.path + "/satchel-move-in-\(Names.random(10))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = "\(folder)/\(name)"
        if let bytes { try Data(bytes).write(to: URL(fileURLWithPath: path)) }
        try await body(path)
    }
}
