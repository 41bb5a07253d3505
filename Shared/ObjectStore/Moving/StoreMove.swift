import Foundation
import Logging
import ParseProtocol

/// Moves everything of a store to the other engine while its service runs: classes with their objects, and the
/// service's own tables.
///
/// The service's writer notes which rows it changes (`ChangeCapture`). Meanwhile every table is copied in short reads;
/// then come rounds, each of which brings the copy to one moment of the source: rows that were changed since are
/// removed first and then written as they are at that moment, so that no unique index is ever violated by the order of
/// things. What is made of objects (words, places, indexes) follows after the first round. Used by one thread.
public final class StoreMove {
    let source: MoveSource
    let target: MoveTarget
    let classes: [ClassDefinition]
    private let say: (String) throws -> Void

    /// The tables as the source has them, and the same of the target in the order of the source's columns.
    var tables: [String: (source: MovedTable, target: MovedTable)] = [:]
    /// The classes of the target, by number.
    var infos: [Int64: ClassInfo] = [:]
    /// Classes whose words, places and indexes are there and follow each row.
    var derived: Set<Int64> = []
    /// Those that get theirs, or get them again, at the end of a round.
    var awaited: Set<Int64> = []
    /// Whether classes have their words, places and indexes by now.
    var hasDerived = false
    /// The number of the last change that was taken.
    private var taken: Int64 = 0
    /// Rows that differed while both sides were compared, to be looked at again in the next round.
    private var suspects: [String: Set<[SQLValue]>] = [:]

    /// Up to so many rows are compared as a whole once more while the service stands.
    private static let comparedAtEndMax: Int64 = 100_000
    /// A round with fewer changes is short enough for the service to wait for.
    private static let smallRound = 400
    private static let roundsMax = 60
    private static let suspectsMax = 100_000
    static let changesAtOnce = 1000
    /// Seconds that the service's processes may take to give up the right to write after they were told to end.
    private static let lockSecondsMax = 15.0

    /// Makes the target's tables.
    /// - Parameter say: called with what happens, for the operator; what it throws ends the step.
    /// - Throws: `MoveRefused`, `DatabaseRefused`, `StoreError`; nothing is left of the target then.
    public init(
        from source: StoreDatabase, to target: StoreDatabase, classes: [ClassDefinition], migrations: [Migrations],
        logger: Logger, say: @escaping (String) throws -> Void
    ) throws {
        self.classes = classes
        self.say = say
        let settings = WriterThread.Settings(
            path: target.name, classes: classes, migrator: Migrator(migrations), synchronous: .normal,
            allowClassCreation: false, allowCustomObjectId: false, allowance: OpenSchema(), shapes: ShapeLog(),
            announcement: .none, watch: ChangeWatch(), repetitions: Repetitions(), answering: { $0() })
        let from = try MoveSource(source)
        try settings.migrator.requireKnown(in: from.connection, source.name)
        guard try settings.migrator.isDone(in: from.connection) else {
            throw MoveRefused("\(source.name) is not of this release: restart the service first.")
        }
        guard try from.connection.hasTable(ChangeCapture.log) else {
            throw MoveRefused("The service does not note what it changes.")
        }
        self.source = from
        self.target = try MoveTarget(target, settings, logger)
    }

    // MARK: The steps

    /// Copies all and catches up with what changed, until little is left. The service runs.
    /// - Throws: `MoveRefused`, `StoreError`; the caller then abandons the move.
    public func copy() throws {
        let schema = try Schema.load(source.connection)
        for info in schema.classes.values { try make(info) }
        try matchTables()
        taken = try lastChange()
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

    /// Takes what was changed at last and looks whether both sides are the same. The service's processes have ended.
    /// - Returns: for the operator: what was moved.
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

    /// Ends the move when the service runs with the target: what it had before is kept under another name.
    /// - Returns: where.
    public func setAside() throws -> String { try source.setAside(Self.stamp()) }

    /// Ends the move and removes what it made.
    /// - Returns: false when the service writes the target already, or it could not be removed.
    public func abandon() -> Bool {
        source.close()
        return target.abandon()
    }

    private static func stamp() -> String {
        let time = ISO8601DateFormatter().string(from: Date())
        return time.filter { $0.isNumber || $0 == "T" || $0 == "Z" }.lowercased()
    }

    // MARK: Tables

    /// - Throws: `MoveRefused` where the sides differ in form.
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
        // What migrations put into new tables is in the source's as well.
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

    /// Makes the tables of a class that was made meanwhile.
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

    /// Copies a table as it is while it changes: what changes meanwhile is noted.
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
        try source.connection.rows("SELECT coalesce(max(seq), 0) FROM \(ChangeCapture.log)").first?.int(0) ?? 0
    }

    /// Brings the target to one moment of the source.
    /// - Returns: the number of changes that were taken.
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
        let first = taken
        try eachChange(after: first, through: last) { try remove($0, of: $1) }
        try eachChange(after: first, through: last) { try add($0, to: $1) }
        try eachChange(after: first, through: last) { try requireSame($0, of: $1) }
        for (name, keys) in suspects {
            guard let pair = tables[name] else { continue }
            try requireSame(keys, of: pair)
        }
        suspects = [:]
        taken = last
        return Int(last - first)
    }

    private func deriveAwaited() throws {
        for id in awaited.sorted() { try derive(id) }
        awaited = []
    }

    private typealias Pair = (source: MovedTable, target: MovedTable)

    /// Goes through noted changes, so many at once: the keys of each table.
    private func eachChange(
        after first: Int64, through last: Int64, _ body: (Set<[SQLValue]>, Pair) throws -> Void
    ) throws {
        let columns = ChangeCapture.keyColumns.joined(separator: ", ")
        var place = first
        while place < last {
            let changes = try source.connection.rows(
                """
                SELECT seq, relation, \(columns) FROM \(ChangeCapture.log) WHERE seq > ? AND seq <= ? ORDER BY seq \
                LIMIT \(Self.changesAtOnce)
                """, [.int(place), .int(last)])
            guard let end = try changes.last?.int(0) else { return }
            place = end
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
    }

    /// The note that a class of that number was dropped has no key.
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
                // It may be there already: of a row that changed twice.
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

    /// Compares every row of a table, value by value; those that differ are looked at again in the next round, when
    /// both sides are of one moment.
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
