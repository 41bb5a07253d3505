import ParseProtocol
import ServiceContextModule

/// The store as a job of the writer sees it (`ClassStore.write`). Its reads see its own writes, and all its changes are
/// rolled back when it throws. One instance serves all jobs of the writer's thread, one after the other (`begin`).
public final class StoreTransaction: ObjectReader {
    /// The time of the job; all its changes have the same time.
    public private(set) var now: Timestamp = .now
    private(set) lazy var nowISO = now.iso
    private var commitActions: [@Sendable () -> Void] = []
    private var changes = ChangeSet()
    private let announces: Bool
    private let watch: ChangeWatch
    private var watched: [StoredChange] = []
    /// Whether live queries are not told of changes.
    private var isQuiet = false
    let allowClassCreation: Bool
    let allowCustomObjectId: Bool
    private let countedAllowance: any SchemaQuota
    /// The limits on schema additions by clients.
    public var allowance: any SchemaQuota { isRepeated ? countedAllowance.uncounted : countedAllowance }
    /// Whether the job under way ran before and was rolled back.
    var isRepeated = false
    /// The classes that the service defines in code, by name.
    let definitions: [String: ClassDefinition]

    init(connection: any StoreConnection, schema: Schema, settings: WriterThread.Settings) {
        allowClassCreation = settings.allowClassCreation
        allowCustomObjectId = settings.allowCustomObjectId
        countedAllowance = settings.allowance
        watch = settings.watch
        if case .kept = settings.announcement { announces = true } else { announces = false }
        definitions = Dictionary(settings.classes.map { ($0.name, $0) }) { _, last in last }
        super.init(connection: connection, schema: schema)
        shapes = settings.shapes
    }

    /// - Throws: `StoreError.exclusiveWanted`; the group is then retried while no other process writes.
    var writer: SchemaWriter {
        get throws {
            try connection.requireExclusive()
            return SchemaWriter(connection: connection)
        }
    }

    /// The `Creation` of each class by its number, until a class changes.
    private var creations: [Int64: Creation] = [:]

    override var schema: Schema {
        didSet { if schema.generation != oldValue.generation { creations = [:] } }
    }

    override func releaseStatements() {
        super.releaseStatements()
        creations = [:]
    }

    func creation(of info: ClassInfo) throws -> Creation {
        if let known = creations[info.id] { return known }
        let creation = try Creation(of: info, connection)
        creations[info.id] = creation
        return creation
    }

    /// Limit of objects that one client request may add to and remove from relations: it blocks the writer's thread.
    static let relatedIdsMax = 10_000
    private var relatedIds = 0

    /// - Throws: `.objectTooLarge` (116) above the limit, for clients.
    func countRelated(_ ids: Int, by caller: Caller) throws {
        relatedIds += ids
        guard relatedIds <= Self.relatedIdsMax || caller.isOperator else {
            throw ParseError(
                .objectTooLarge,
                "One request may add and remove at most \(Self.relatedIdsMax) objects of relations; send several.")
        }
    }

    /// Starts the next job. Jobs of a group often have the same millisecond.
    func begin() {
        relatedIds = 0
        let moment = Timestamp.now
        guard moment != now else { return }
        now = moment
        nowISO = moment.iso
    }

    /// Runs a savepoint inside the job. When `body` throws, only its changes are rolled back, and the error is
    /// rethrown.
    public func nested<T>(_ body: () throws -> T) throws -> T {
        let wasOutright = isOutright
        isOutright = false
        defer { isOutright = wasOutright }
        let before = (schema, commitActions.count, watched.count)
        try connection.execute("SAVEPOINT nested")
        do {
            let result = try body()
            try connection.execute("RELEASE nested")
            return result
        } catch {
            // A transaction that SQLite aborted cannot continue; the writer detects this and fails the whole group.
            if connection.isInTransaction {
                try connection.execute("ROLLBACK TO nested")
                try connection.execute("RELEASE nested")
            }
            schema = before.0
            commitActions.removeSubrange(before.1...)
            watched.removeSubrange(before.2...)
            // The savepoint rolled back the partial changes.
            throw (error as? PartialChange)?.cause ?? error
        }
    }

    // MARK: Without a savepoint
    //
    // | function    | no savepoint in    | may throw               | changes of a failed job are undone by  |
    // |-------------|--------------------|-------------------------|----------------------------------------|
    // | `atOnce`    | SQLite             | before its first change | an enclosing savepoint or the group    |
    // | `outright`  | SQLite, PostgreSQL | before its first change | the group, which runs again            |
    // | `unguarded` | SQLite             | at any time             | the group, which runs again            |
    //
    // A group runs again with a savepoint for each such job (`GroupCommit`).

    /// Runs `body` without a savepoint, which would copy every changed page. `body` must throw only before its first
    /// change; `changesAtOnce` decides which changes qualify.
    /// - Throws: errors of `body`; `PartialChange` if it may have changed something before, for example when the disk
    ///   fails. An enclosing savepoint rolls this back, else the whole group is rolled back.
    package func atOnce<T>(_ body: () throws -> T) throws -> T {
        // PostgreSQL aborts the whole transaction when it refuses one statement.
        guard dialect == .sqlite || isOutright else { return try nested(body) }
        let before = (schema, commitActions.count, work, watched.count)
        do {
            return try body()
        } catch {
            // SQLite does not count a row of which it has changed one index when the next one is damaged.
            guard work == before.2, StorageTrouble(error) == nil else {
                throw (error as? PartialChange) ?? PartialChange(cause: error)
            }
            schema = before.0
            commitActions.removeSubrange(before.1...)
            watched.removeSubrange(before.3...)
            throw error
        }
    }

    /// Whether the running job throws only before its first change (`StoreJob.changesAtOnce`).
    package internal(set) var runsAtOnce = false

    /// Whether the running job is `outright` in PostgreSQL.
    private(set) var isOutright = false
    /// Whether any job of the group was.
    private(set) var hasOutright = false
    /// The number of statements that were sent without waiting for a result.
    private var postponed: Int64 = 0
    private var work: Int64 { connection.totalChanges + postponed }

    /// Whether any job of the group was `outright` or `unguarded` in SQLite.
    private(set) var hasUnguarded = false

    /// Starts the next group.
    func beginGroup() { (hasOutright, hasUnguarded) = (false, false) }

    /// In PostgreSQL it does not wait for each row.
    func outright<T>(_ body: () throws -> T) throws -> T {
        if dialect == .sqlite { return try unguarded(body) }
        (isOutright, hasOutright) = (true, true)
        defer { isOutright = false }
        return try atOnce(body)
    }

    /// A savepoint copies pages in SQLite only.
    func unguarded<T>(_ body: () throws -> T) throws -> T {
        guard dialect == .sqlite else { return try nested(body) }
        hasUnguarded = true
        return try atOnce(body)
    }

    /// Sends a change that can fail only at the commit.
    func postpone(_ statement: PostgreSQLStoreStatement) throws {
        postponed += 1
        try statement.enqueue()
    }

    /// Runs `action` after the commit on the writer's thread, and never when the job is rolled back. It must not block.
    public func afterCommit(_ action: @escaping @Sendable () -> Void) {
        guard let context = ServiceContext.current else { return commitActions.append(action) }
        commitActions.append { ServiceContext.$current.withValue(context, operation: action) }
    }

    func takeCommitActions() -> [@Sendable () -> Void] {
        defer { commitActions = [] }
        return commitActions
    }

    /// Records a changed object for `ChangeBoard`, even if the change is rolled back later.
    func noteChange(of info: ClassInfo, _ objectId: String) {
        if announces { changes.note(info.name, objectId) }
    }

    /// Records a change in one of the service's own tables, which only `ChangeBoard` treats as an object of a class.
    package func noteChange(ofClass className: String, _ id: String) {
        if announces { changes.note(className, id) }
    }

    /// Records a change of an object for subscribers to its class. Rolled back changes are not reported.
    /// - Parameters:
    ///   - before: nil for a created object.
    ///   - after: nil for a deleted object.
    func noteWatched(
        _ info: ClassInfo, _ objectId: String, before: @autoclosure () -> StoredImage?,
        after: @autoclosure () -> StoredImage?
    ) throws {
        guard !isQuiet else { return }
        if watch.keepsLog { return try logChange(info, objectId, before: before(), after: after()) }
        guard watch.wants(info.name) else { return }
        watched.append(
            StoredChange(
                info: info, generation: schema.generation, objectId: objectId, before: before(), after: after()))
    }

    /// Makes changes that live queries are not told of.
    public func quietly<T>(_ body: () throws -> T) rethrows -> T {
        let wasQuiet = isQuiet
        isQuiet = true
        defer { isQuiet = wasQuiet }
        return try body()
    }

    func takeWatchedChanges() -> [StoredChange] {
        guard !watched.isEmpty else { return [] }
        defer { watched = [] }
        return watched
    }

    /// The changes that the jobs of a group made to objects and classes.
    func takeChanges(since before: Schema) -> ChangeSet {
        defer { changes = ChangeSet() }
        if announces, schema.generation != before.generation { changes.noteEverything() }
        return changes
    }

    // MARK: Own tables

    /// Runs an INSERT, UPDATE or DELETE on the service's own tables. The SQL must come from code; values are bound.
    /// - Returns: the number of rows changed.
    /// - Throws: `StoreError`; `isUniqueViolation` identifies a repeated key.
    @discardableResult
    public func execute(_ sql: String, _ arguments: [SQLValue] = []) throws -> Int {
        try connection.execute(sql, arguments)
        return connection.changes
    }

    /// Runs a SELECT, or a change with RETURNING. It has no time limit, because interrupting a change would roll back
    /// the group.
    public override func rows(_ sql: String, _ arguments: [SQLValue]) throws -> [SQLRow] {
        try connection.rows(sql, arguments)
    }

    /// The size in bytes of the database's pages in use; nil while the engine has no current figure.
    public func usedBytes() throws -> Int64? { try connection.usedBytes() }

    // MARK: Classes

    /// The class for a new object. It is created if it is missing and the caller may create it.
    func classForCreating(_ name: String, _ caller: Caller) throws -> ClassInfo {
        if let info = schema.classes[name] { return info }
        guard Names.isClassName(name) else {
            throw ParseError.invalidClassName(name)
        }
        guard caller.isMaster || allowClassCreation else {
            throw ParseError(
                .operationForbidden, "This user is not allowed to access non-existent class: \(name)")
        }
        guard schema.classes.count < Schema.classesMax else {
            throw ParseError(.operationForbidden, "There are too many classes to add another one.")
        }
        try allowance.addClass(name, count: schema.classes.count, by: caller)
        let info = try writer.create(name)
        try writer.save(info, in: &schema)
        return info
    }

    /// Stores the fields of `info` that the stored class lacks.
    func saveNewFields(_ names: [String], of info: ClassInfo) throws {
        for name in names {
            if info.fields[name] == .geoPoint { try GeoIndex.create(info, ofNewField: true, connection) }
        }
        if !names.isEmpty { try writer.save(info, in: &schema) }
    }
}

/// An error after a part of the changes, which should have succeeded or failed as a whole.
struct PartialChange: Error {
    let cause: any Error
}
