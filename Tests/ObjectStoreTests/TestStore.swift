import Foundation
import Logging
import ObjectStore
import ParseProtocol
import Synchronization
import Testing

/// A store in a temporary folder that is removed with it, or in a temporary schema of the PostgreSQL database that
/// `SATCHEL_TEST_DATABASE` names.
final class TestStore: Sendable {
    let store: ClassStore
    let path: String
    private let ownsFolder: Bool
    /// The schema of this store; nil for a file.
    private let database: PostgreSQLDatabase?

    /// The connection string of the PostgreSQL server on which the engine-independent tests run; nil for SQLite.
    static let server = ProcessInfo.processInfo.environment["SATCHEL_TEST_DATABASE"]

    /// `SATCHEL_TEST_WRITERS=every` makes every store a writer unless its test specifies otherwise.
    static let writers: StoreWriters =
        ProcessInfo.processInfo.environment["SATCHEL_TEST_WRITERS"] == "every" ? .every : .one

    /// - Parameter path: the file of another `TestStore`, to open it a second time.
    init(
        _ classes: [ClassDefinition] = [], path: String? = nil, allowClassCreation: Bool = true,
        allowCustomObjectId: Bool = false, allowance: any SchemaQuota = UnlimitedSchema(), schema: [String] = [],
        announcement: ChangeAnnouncement = .none, writers: StoreWriters = TestStore.writers,
        startsWriting: Bool = true
    ) async throws {
        ownsFolder = path == nil
        let path = path ?? NSTemporaryDirectory() + "store-\(UUID().uuidString)/test.sqlite"
        self.path = path
        let migrations = schema.isEmpty ? [] : [Migrations("test", [Migration(1, "tables", schema)])]
        database = Self.server.map { server in
            // The folder's name is the schema's name.
            let folder = URL(fileURLWithPath: path).deletingLastPathComponent().lastPathComponent
            return PostgreSQLDatabase(connection: server, schema: folder)
        }
        store = try ClassStore(
            database.map(StoreDatabase.postgresql) ?? .file(path: path), classes: classes, synchronous: .normal,
            writers: writers, allowClassCreation: allowClassCreation,
            allowCustomObjectId: allowCustomObjectId, allowance: allowance, announcement: announcement,
            migrations: migrations,
            logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
        guard startsWriting else { return }
        await becomeWriter()
    }

    deinit {
        store.stop()
        if ownsFolder {
            try? database?.drop()
            try? FileManager.default.removeItem(at: URL(fileURLWithPath: path).deletingLastPathComponent())
        }
    }

    func becomeWriter() async {
        let store = store
        await withCheckedContinuation { continuation in store.startWriting { continuation.resume() } }
    }

    /// Waits until the store accepts writes, also if it is not the leader.
    func mayWrite(
        refused: @escaping @Sendable (DatabaseRefused) -> Void = { _ in },
        _ became: @escaping @Sendable () -> Void = {}
    ) async {
        let store = store
        let isKnown = Atomic(false)
        await withCheckedContinuation { continuation in
            store.startWriting(
                refused: refused,
                mayWrite: {
                    guard $0, !isKnown.exchange(true, ordering: .relaxed) else { return }
                    continuation.resume()
                }, became)
        }
    }

    @discardableResult
    func create(
        _ className: String, _ object: JSON, as caller: Caller = .master, id: String? = nil
    ) async throws -> String {
        try await store.write { try $0.create(className, object, objectId: id, caller: caller).objectId }
    }

    @discardableResult
    func update(_ className: String, _ id: String, _ changes: JSON, as caller: Caller = .master) async throws -> Updated
    {
        try await store.write { try $0.update(className, id, changes, caller: caller) }
    }

    func delete(_ className: String, _ id: String, as caller: Caller = .master) async throws {
        _ = try await store.write { try $0.delete(className, id, caller: caller) }
    }

    func get(_ className: String, _ id: String, keys: [String] = [], as caller: Caller = .master) async throws -> JSON {
        let text = try await store.read { try $0.get(className, id, keys: keys, excludeKeys: [], caller: caller) }
        return try JSON(parsing: text)
    }

    /// The `name` of every object found, in order.
    func names(
        _ className: String, _ condition: JSON, order: [String] = ["name"], limit: Int = 100, skip: Int = 0,
        as caller: Caller = .master
    ) async throws -> [String] {
        let query = Query(
            className: className, where: condition.serialized, order: order, limit: limit, skip: skip)
        return try await store.read { reader in
            try reader.documents(query, caller: caller).compactMap { $0["name"]?.stringValue }
        }
    }
}

extension TestStore {
    /// The names of the tables and indexes with a prefix.
    func relations(_ start: String) async throws -> [String] {
        let list =
            Self.server == nil
            ? "SELECT name FROM sqlite_master"
            : "SELECT relname AS name FROM pg_class WHERE relnamespace = quote_ident(current_schema())::regnamespace"
        let rows = try await store.read { try $0.rows("SELECT name FROM (\(list)) names ORDER BY name") }
        return try rows.map { try $0.text("name") }.filter { $0.hasPrefix(start) }
    }
}

extension Trait where Self == ConditionTrait {
    /// A test of a feature that only SQLite has.
    static func sqliteOnly(_ reason: Comment) -> Self { .enabled(if: TestStore.server == nil, reason) }

    /// A test of a feature that only PostgreSQL has.
    static func postgresqlOnly(_ reason: Comment) -> Self { .enabled(if: TestStore.server != nil, reason) }

    /// A test of several writing processes.
    static var severalWriters: Self {
        .enabled(if: TestStore.server != nil, "A file has one writer.")
    }
}

extension ClassStore {
    /// A read that belongs to no request.
    func read<T: Sendable>(_ body: @escaping @Sendable (StoreReader) throws -> T) async throws -> T {
        try await read(for: nil, body)
    }

    /// A job that belongs to no request.
    func write<T: Sendable>(_ body: @escaping @Sendable (StoreTransaction) throws -> T) async throws -> T {
        try await write(for: nil, body)
    }

    /// A job that belongs to no request.
    func submit<T: Sendable>(
        seldomFails: Bool = false, _ body: @escaping @Sendable (StoreTransaction) throws -> T,
        completion: @escaping @Sendable (Result<T, any Error>) -> Void,
        changesAtOnce: @escaping @Sendable (StoreTransaction) -> Bool = { _ in false }
    ) {
        submit(for: nil, seldomFails: seldomFails, body, completion: completion, changesAtOnce: changesAtOnce)
    }
}

/// The Parse code of the error that `body` throws; nil when it throws none.
func code(_ body: () async throws -> Void) async -> Int? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? ParseError)?.code.rawValue ?? 0
    }
}

func error(_ body: () async throws -> Void) async -> ParseError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? ParseError
    }
}

func date(_ iso: String) -> JSON { ["__type": "Date", "iso": .string(iso)] }

let ann = Caller(userId: "annannanna")
let bob = Caller(userId: "bobbobbobb")
let admin = Caller(userId: "adminadmin", roles: ["admins"])
