import Foundation
import Logging
import ParseProtocol

/// Moves a whole store to the other engine while its service runs: classes with their objects, and the service's own
/// tables. `ServiceMove` uses it.
///
/// The service's writer records which rows it changes (`ChangeCapture`). Meanwhile every table is copied in short
/// reads. Then come rounds, each of which brings the copy to one snapshot of the source. A round first removes all
/// changed rows and then inserts their current versions, so that the order never violates a unique index. Derived data
/// (text, geo and other indexes) is created after the first round. One thread uses it.
public final class StoreMove {
    let source: MoveSource
    let target: MoveTarget
    let classes: [ClassDefinition]
    private let say: (String) throws -> Void

    /// The tables of the source, and the target's tables with their columns in the order of the source.
    var tables: [String: (source: MovedTable, target: MovedTable)] = [:]
    /// The classes of the target, by number.
    var infos: [Int64: ClassInfo] = [:]
    /// Classes whose text, geo and other indexes exist and are kept current with each row.
    var derived: Set<Int64> = []
    /// Classes whose indexes are created or recreated at the end of a round.
    var awaited: Set<Int64> = []
    /// Whether the indexes of the first classes were created.
    var hasDerived = false
    /// Whether the source has a list of changes.
    private let hasLog: Bool
    /// The number of the last applied change.
    private var taken: Int64 = 0
    /// Numbers up to `taken` without a visible change. On a server, a change gets its number before its commit, so that
    /// it may appear after higher ones; or its transaction was rolled back.
    private var missing: Set<Int64> = []
    /// Rows that differed during the comparison, to be checked again in the next round.
    private var suspects: [String: Set<[SQLValue]>] = [:]

    /// Limit of rows that are all compared again while the service is stopped.
    private static let comparedAtEndMax: Int64 = 100_000
    /// A round with fewer changes is short enough to stop the service for.
    private static let smallRound = 400
    private static let roundsMax = 60
    private static let suspectsMax = 100_000
    static let changesAtOnce = 1000
    /// Timeout in seconds for the service's processes to release the right to write after they were stopped.
    private static let lockSecondsMax = 15.0

    /// Creates the target's tables.
    /// - Parameter say: called with progress messages for the operator; an error that it throws ends the step.
    /// - Throws: `MoveRefused`, `DatabaseRefused`, `StoreError`; the target is then removed.
    public init(
        from source: StoreDatabase, to target: StoreDatabase, classes: [ClassDefinition], migrations: [Migrations],
        logger: Logger, say: @escaping (String) throws -> Void
    ) throws {
        self.classes = classes
        self.say = say
        let settings = WriterThread.Settings(
            path: target.name, classes: classes, migrator: Migrator(migrations), synchronous: .normal,
            allowClassCreation: false, allowCustomObjectId: false, allowance: UnlimitedSchema(), shapes: ShapeLog(),
            announcement: .none, watch: ChangeWatch(), repetitions: Repetitions(), answering: { $0() })
        let from = try MoveSource(source)
        try settings.migrator.requireKnown(in: from.connection, source.name)
        guard try settings.migrator.isDone(in: from.connection) else {
            let remedy = from.isFrozen ? "move it with an earlier one (upgrading.md)" : "restart the service first"
            throw MoveRefused("\(source.name) is not of this release: \(remedy).")
        }
        hasLog = try from.connection.hasTable(ChangeCapture.log)
        guard hasLog || from.isFrozen else { throw MoveRefused("The service does not note what it changes.") }
        self.source = from
        self.target = try MoveTarget(target, settings, logger)
    }

    // MARK: The steps

    /// Copies everything and applies changes until few are left. The service runs.
    /// - Throws: `MoveRefused`, `StoreError`; the caller then abandons the move.
    public func copy() throws {
        let schema = try Schema.load(source.connection)
        for info in schema.classes.values { try make(info) }
        try matchTables()
        taken = try source.connection.dialect == .sqlite ? lastChange() : 0
        for name in tables.keys.sorted() { try copy(name) }
        try round()
        awaited = Set(infos.keys)
        try deriveAwaited()
        hasDerived = true
        if target.connection.dialect != .sqlite {
            for pair in tables.values { try target.connection.executeOnce("ANALYZE \(pair.target.quoted)") }
        }
        try round()
        try say("comparing both sides")
        for name in tables.keys.sorted() { try compare(name) }
        for _ in 0..<Self.roundsMax where try round() < Self.smallRound { return }
        throw MoveRefused("The service changes more than can be followed. Move it when less is going on.")
    }

    /// Applies the last changes and checks that both sides are equal. The service's processes have ended.
    /// - Returns: a summary for the operator.
    public func finish() throws -> String {
        try source.takeRight(within: Self.lockSecondsMax)
        try round()
        var total: Int64 = 0
        for (name, pair) in tables.sorted(by: { $0.key < $1.key }) {
            let counts = try (rows(pair.source).count(), copied(pair.target).count())
            guard counts.0 == counts.1 else {
                throw MoveRefused("The table \(name) has \(counts.0) rows, and \(counts.1) were copied.")
            }
            total += counts.0
        }
        if total <= Self.comparedAtEndMax {
            for name in tables.keys.sorted() { try compare(name) }
            guard suspects.isEmpty else { throw differing() }
        }
        try moveCounters()
        try moveUnwantedIndexes()
        try target.wakeTriggers()
        try target.connection.setGeneration(max(1, source.connection.generation()))
        let aside = try target.place(Self.stamp())
        return "\(total) rows of \(tables.count) tables" + (aside.map { ", what was there is in \($0)" } ?? "")
    }

    /// Completes the move when the service runs with the target: the source is kept under another name.
    /// - Returns: the new location of the source.
    public func setAside() throws -> String { try source.setAside(Self.stamp()) }

    /// Reverts the move and removes the target.
    /// - Returns: false when the service already writes the target, or it could not be removed.
    public func abandon() -> Bool {
        source.close()
        return target.abandon()
    }

    private static func stamp() -> String {
        let time = ISO8601DateFormatter().string(from: Date())
        return time.filter { $0.isNumber || $0 == "T" || $0 == "Z" }.lowercased()
    }

    // MARK: Tables

    /// - Throws: `MoveRefused` if the tables of both sides have different columns or keys.
    private func matchTables() throws {
        let there = try target.connection.movedTables()
        for (name, table) in try source.connection.movedTables() {
            if let id = table.classId, infos[id] == nil { continue }
            guard let other = there[name] else {
                guard try rows(table).connection.rows("SELECT 1 FROM \(table.quoted) LIMIT 1").isEmpty else {
                    throw MoveRefused("The table \(name) is none that this release makes.")
                }
                continue
            }
            try match(table, other)
        }
        // Rows that migrations insert into new tables are copied from the source.
        for table in there.values where table.classId == nil {
            try target.connection.executeOnce("DELETE FROM \(table.quoted)")
        }
    }

    private func match(_ table: MovedTable, _ other: MovedTable) throws {
        guard !table.key.isEmpty, let arranged = other.arranged(as: table) else {
            throw MoveRefused("The table \(table.name) has other columns or keys on the other side.")
        }
        tables[table.name] = (table, arranged)
    }

    private func make(_ info: ClassInfo) throws {
        var info = info
        info.dialect = target.connection.dialect
        try target.write { try $0.createClassTables(info.id) }
        infos[info.id] = info
    }

    /// Creates the tables of a class that was created meanwhile.
    func add(_ info: ClassInfo) throws {
        try make(info)
        let (here, there) = (try source.connection.movedTables(), try target.connection.movedTables())
        for name in ["o\(info.id)", "p\(info.id)"] {
            guard let table = here[name], let other = there[name] else { continue }
            try match(table, other)
        }
    }

    func rows(_ table: MovedTable) -> MovedRows { MovedRows(connection: source.connection, table: table) }
    func copied(_ table: MovedTable) -> MovedRows { MovedRows(connection: target.connection, table: table) }

    /// Copies a table while it changes: changes during the copy are recorded.
    private func copy(_ name: String) throws {
        guard let pair = tables[name] else { return }
        var size = BatchSize()
        var last: [SQLValue]?
        var count = 0
        while true {
            let batch = try rows(pair.source).rows(after: last, limit: size.rows)
            guard let end = batch.last else { break }
            try target.write { _ in try copied(pair.target).insert(batch) }
            last = pair.source.key(of: end)
            count += batch.count
            if count / 100_000 != (count - batch.count) / 100_000 { try say("copying \(name): \(count) rows") }
            size.took(bytes: batch.reduce(0) { $0 + $1.reduce(0) { $0 + $1.weight } }, count: batch.count)
        }
        if count > 0 { try say("copied \(name): \(count) rows") }
    }

    // MARK: What changed

    private func lastChange() throws -> Int64 {
        guard hasLog else { return 0 }
        return try source.connection.rows("SELECT coalesce(max(seq), 0) FROM \(ChangeCapture.log)").first?.int(0) ?? 0
    }

    /// Brings the target to one snapshot of the source.
    /// - Returns: the number of applied changes.
    @discardableResult
    private func round() throws -> Int {
        let count = try catchUp()
        try deriveAwaited()
        return count
    }

    private func catchUp() throws -> Int {
        try source.connection.beginReading()
        defer { try? source.connection.execute("COMMIT") }
        let last = try lastChange()
        try followClasses()
        let (late, first) = (try lateChanges(), taken)
        try eachChange(late, after: first, through: last) { try remove($0, of: $1) }
        try eachChange(late, after: first, through: last) { try add($0, to: $1) }
        try eachChange(late, after: first, through: last) { try requireSame($0, of: $1) }
        for (name, keys) in suspects {
            guard let pair = tables[name] else { continue }
            try requireSame(keys, of: pair)
        }
        suspects = [:]
        missing.subtract(late)
        taken = last
        return late.count + Int(last - first)
    }

    /// The numbers of missing changes that are visible now.
    private func lateChanges() throws -> [Int64] {
        guard !missing.isEmpty else { return [] }
        let isMissing = source.connection.dialect.isIn("?", as: .integer)
        let numbers = JSON.array(missing.map { .int($0) }).serializedText
        return try source.connection.rows(
            "SELECT seq FROM \(ChangeCapture.log) WHERE seq\(isMissing) ORDER BY seq", [.text(numbers)]
        ).map { try $0.int(0) }
    }

    private func deriveAwaited() throws {
        for id in awaited.sorted() { try derive(id) }
        awaited = []
    }

    private typealias Pair = (source: MovedTable, target: MovedTable)

    /// Iterates over recorded changes in batches, first over those with the numbers `late`: passes the keys of each
    /// table to `body`. Notes which numbers are missing.
    private func eachChange(
        _ late: [Int64], after first: Int64, through last: Int64, _ body: (Set<[SQLValue]>, Pair) throws -> Void
    ) throws {
        let columns = ChangeCapture.keyColumns.joined(separator: ", ")
        let sql = "SELECT seq, relation, \(columns) FROM \(ChangeCapture.log) WHERE"
        let isLate = source.connection.dialect.isIn("?", as: .integer)
        var rest = late[...]
        while !rest.isEmpty {
            let numbers = JSON.array(rest.prefix(Self.changesAtOnce).map { .int($0) }).serializedText
            rest = rest.dropFirst(Self.changesAtOnce)
            try pass(source.connection.rows("\(sql) seq\(isLate)", [.text(numbers)]), to: body)
        }
        var place = first
        while place < last {
            let changes = try source.connection.rows(
                "\(sql) seq > ? AND seq <= ? ORDER BY seq LIMIT \(Self.changesAtOnce)", [.int(place), .int(last)])
            guard !changes.isEmpty else { return }
            for change in changes {
                let number = try change.int(0)
                missing.formUnion((place + 1)..<number)
                place = number
            }
            try pass(changes, to: body)
        }
    }

    private func pass(_ changes: [SQLRow], to body: (Set<[SQLValue]>, Pair) throws -> Void) throws {
        var keys: [String: Set<[SQLValue]>] = [:]
        for change in changes {
            guard let pair = tables[try change.text(1)] else { continue }
            keys[pair.source.name, default: []].insert(
                ChangeCapture.key(Array(change.values.dropFirst(2)), of: pair.source))
        }
        for (name, keys) in keys {
            guard let pair = tables[name] else { continue }
            try body(keys, pair)
        }
    }

    /// The entry for a dropped class has no key.
    private func isDropNote(_ key: [SQLValue]) -> Bool { key.allSatisfy(\.isNull) }

    private func remove(_ keys: Set<[SQLValue]>, of pair: Pair) throws {
        if keys.contains(where: isDropNote), let id = pair.source.classId { try empty(id) }
        try target.write { _ in
            for key in keys where !isDropNote(key) {
                try forget(key, of: pair.target)
                try copied(pair.target).delete(key)
            }
        }
    }

    private func add(_ keys: Set<[SQLValue]>, to pair: Pair) throws {
        try target.write { connection in
            for key in keys where !isDropNote(key) {
                guard let row = try rows(pair.source).row(key) else { continue }
                let changes = connection.totalChanges
                try copied(pair.target).insert([row])
                // The row may exist already, if it changed twice.
                if connection.totalChanges > changes { try learn(row, of: pair.target) }
            }
        }
    }

    // MARK: Whether both sides are the same

    private func requireSame(_ keys: Set<[SQLValue]>, of pair: Pair) throws {
        for key in keys where !isDropNote(key) {
            guard try rows(pair.source).row(key) == copied(pair.target).row(key) else {
                throw MoveRefused("A row of the table \(pair.source.name) is another one in the copy.")
            }
        }
    }

    private func differing() -> MoveRefused {
        MoveRefused("Rows differ in the copy: of the tables \(suspects.keys.sorted().joined(separator: ", ")).")
    }

    /// Compares every row of a table, value by value. Rows that differ are checked again in the next round, when both
    /// sides show the same snapshot.
    private func compare(_ name: String) throws {
        guard let pair = tables[name] else { return }
        var size = BatchSize()
        var last: [SQLValue]?
        while true {
            let batch = try rows(pair.source).rows(after: last, limit: size.rows)
            let end = batch.count < size.rows ? nil : batch.last.map(pair.source.key)
            var others: [[SQLValue]: [SQLValue]] = [:]
            for row in try copied(pair.target).rows(after: last, through: end, limit: nil) {
                others[pair.source.key(of: row)] = row
            }
            for row in batch {
                let key = pair.source.key(of: row)
                if others.removeValue(forKey: key) != row { suspects[name, default: []].insert(key) }
            }
            for key in others.keys { suspects[name, default: []].insert(key) }
            guard suspects.values.reduce(0, { $0 + $1.count }) <= Self.suspectsMax else { throw differing() }
            guard let end else { return }
            last = end
            size.took(bytes: batch.reduce(0) { $0 + $1.reduce(0) { $0 + $1.weight } }, count: batch.count)
        }
    }
}
