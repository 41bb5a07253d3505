import ParseProtocol

/// One job of the writer: reads see what the job has written, and everything is undone when the job throws.
public final class StoreTransaction: ObjectReader {
    /// The time of the job; everything in it happens at the same moment.
    public private(set) var now: Timestamp = .now
    private(set) lazy var nowISO = now.iso
    private var commitActions: [@Sendable () -> Void] = []
    private var changes = ChangeSet()
    private let announces: Bool
    private let watch: ChangeWatch
    private var watched: [StoredChange] = []
    let allowClassCreation: Bool
    let allowCustomObjectId: Bool
    private let countedAllowance: any SchemaAllowance
    /// The bounds of what clients add to classes.
    public var allowance: any SchemaAllowance { isRepeated ? countedAllowance.uncounted : countedAllowance }
    /// Whether the job under way was carried out before, and undone.
    var isRepeated = false
    /// The classes that the service's code knows, by name.
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

    var writer: SchemaWriter { SchemaWriter(connection: connection) }

    /// The rows of each class as they are created, by the class's number, until a class changes.
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

    /// Starts the next job. Those of a group often share their millisecond.
    func begin() {
        let moment = Timestamp.now
        guard moment != now else { return }
        now = moment
        nowISO = moment.iso
    }

    /// Runs a savepoint inside the job: when `body` throws, only what it did is undone, and the error passed on.
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
            // A transaction that SQLite gave up cannot go on; the writer finds that and fails the whole group.
            if connection.isInTransaction {
                try connection.execute("ROLLBACK TO nested")
                try connection.execute("RELEASE nested")
            }
            schema = before.0
            commitActions.removeSubrange(before.1...)
            watched.removeSubrange(before.2...)
            // What was half done is undone.
            throw (error as? HalfDone)?.cause ?? error
        }
    }

    /// Runs `body`, which throws only before its first change, without a savepoint: it saves copies of every page that
    /// is changed. Which changes are of this kind is `changesAtOnce`'s to say.
    /// - Throws: what `body` throws; `HalfDone` should it have changed something by then, as it may when the disk
    ///   fails: whoever has a savepoint around it undoes it, else the whole group is.
    package func atOnce<T>(_ body: () throws -> T) throws -> T {
        // PostgreSQL gives a whole transaction up for one statement that it refuses.
        guard dialect == .sqlite || isOutright else { return try nested(body) }
        let before = (schema, commitActions.count, work, watched.count)
        do {
            return try body()
        } catch {
            guard work == before.2 else { throw (error as? HalfDone) ?? HalfDone(cause: error) }
            schema = before.0
            commitActions.removeSubrange(before.1...)
            watched.removeSubrange(before.3...)
            throw error
        }
    }

    /// Whether a failure of what runs now is one of the whole group, which is then done again with savepoints.
    private(set) var isOutright = false
    /// Whether a job of the group ran so.
    private(set) var hasOutright = false
    /// Statements that were sent and not waited for.
    private var postponed: Int64 = 0
    private var work: Int64 { connection.totalChanges + postponed }

    /// Starts the next group.
    func beginGroup() { hasOutright = false }

    /// As `atOnce` for a job as a whole whose group can be done again: in PostgreSQL too without a savepoint, and
    /// without waiting for each row.
    func outright<T>(_ body: () throws -> T) throws -> T {
        if dialect == .sqlite { return try atOnce(body) }
        (isOutright, hasOutright) = (true, true)
        defer { isOutright = false }
        return try atOnce(body)
    }

    /// Sends a change that fails at the commit if at all.
    func postpone(_ statement: PostgreSQLStoreStatement) throws {
        postponed += 1
        try statement.enqueue()
    }

    /// Runs after the commit on the writer's thread, and never when the job is undone. Must not block.
    public func afterCommit(_ action: @escaping @Sendable () -> Void) { commitActions.append(action) }

    func takeCommitActions() -> [@Sendable () -> Void] {
        defer { commitActions = [] }
        return commitActions
    }

    /// Notes an object whose rows are changed, for `ChangeBoard`. Also what is undone later counts.
    func noteChange(of info: ClassInfo, _ objectId: String) {
        if announces { changes.note(info.name, objectId) }
    }

    /// Notes something in a table of the service's own that is changed, and that is an object of a class only for
    /// `ChangeBoard`.
    package func noteChange(ofClass className: String, _ id: String) {
        if announces { changes.note(className, id) }
    }

    /// Notes what became of an object, for who watches its class. What is undone later is not told.
    /// - Parameters:
    ///   - before: nil for an object that is created.
    ///   - after: nil for an object that is deleted.
    func noteWatched(
        _ info: ClassInfo, _ objectId: String, before: @autoclosure () -> StoredImage?,
        after: @autoclosure () -> StoredImage?
    ) throws {
        if watch.keepsLog { return try logChange(info, objectId, before: before(), after: after()) }
        guard watch.wants(info.name) else { return }
        watched.append(
            StoredChange(
                info: info, generation: schema.generation, objectId: objectId, before: before(), after: after()))
    }

    func takeWatchedChanges() -> [StoredChange] {
        guard !watched.isEmpty else { return [] }
        defer { watched = [] }
        return watched
    }

    /// What the jobs of a group changed in objects and classes.
    func takeChanges(since before: Schema) -> ChangeSet {
        defer { changes = ChangeSet() }
        if announces, schema.generation != before.generation { changes.noteEverything() }
        return changes
    }

    // MARK: Own tables

    /// Runs an INSERT, UPDATE or DELETE on the service's own tables. The SQL comes from code only; values are bound.
    /// - Returns: the number of rows changed.
    /// - Throws: `StoreError`; `isUniqueViolation` tells a repeated key.
    @discardableResult
    public func execute(_ sql: String, _ arguments: [SQLValue] = []) throws -> Int {
        try connection.execute(sql, arguments)
        return connection.changes
    }

    /// Runs a SELECT, or a change with RETURNING. Not limited in time: an interrupted change would undo the group.
    public override func rows(_ sql: String, _ arguments: [SQLValue]) throws -> [SQLRow] {
        try connection.rows(sql, arguments)
    }

    /// The bytes of the file's pages that hold something; nil where the engine does not know as of now.
    public func usedBytes() throws -> Int64? { try connection.usedBytes() }

    // MARK: Classes

    /// The class to create an object in, made when there is none and the caller may make it.
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

    /// Objects of a class to which a client may still add a relation field: each of them is rewritten, while other
    /// writes wait.
    private static let rewrittenMax: Int64 = 20_000

    /// - Throws: `.operationForbidden` (119) when the class has so many objects that only an operator adds a relation
    ///   field.
    func checkRelationField(of info: ClassInfo, _ caller: Caller) throws {
        guard !caller.isOperator else { return }
        let beyond = try rows("SELECT 1 AS n FROM o\(info.id) LIMIT 1 OFFSET ?", [.int(Self.rewrittenMax)])
        guard beyond.isEmpty else {
            throw ParseError(
                .operationForbidden,
                "\(info.name) has too many objects for clients to add a relation; the master key can, as a schema.")
        }
    }

    /// Stores the fields that `info` has and the stored class has not.
    func saveNewFields(_ names: [String], of info: ClassInfo) throws {
        for name in names {
            if case .relation(let target)? = info.fields[name] {
                try writer.addRelationToObjects(name, target: target, of: info)
            }
            if info.fields[name] == .geoPoint { try GeoIndex.create(info, connection) }
        }
        if !names.isEmpty { try writer.save(info, in: &schema) }
    }
}

/// An error after a part of the changes that should have been all or none.
struct HalfDone: Error {
    let cause: any Error
}
