import ParseProtocol

/// The effort of one step at automatic indexes, for which other writes wait.
package struct IndexEffort: Sendable {
    /// Rows at most: what they change is also what a commit brings to the disk.
    package var rowsMax = 300
    /// Nanoseconds, looked at after each row.
    package var nanosecondsMax: UInt64 = 10_000_000
    /// Nanoseconds of a clock that does not go back.
    package var clock: @Sendable () -> UInt64 = { TimeLimit.monotonic }

    package init() {}
}

/// The outcome of a step.
package enum IndexStep: Sendable, Hashable {
    /// There is no index to build and none to remove.
    case nothing
    /// So many rows were added or removed.
    case rows(Int)
    /// The index of this name answers queries from now on.
    case ready(String)
    /// The table of an index is gone.
    case dropped
    /// The index of this name goes again, because values are too long for it.
    case unfit(String)
    /// There is something to do, but not now: the server is at work for another process, or was told to stop.
    case later
}

/// Building and removing automatic indexes in steps, each of which is a short job of the writer. How far an index is
/// stands in the file, so that a crash loses no step that was committed.
extension StoreTransaction {
    /// One step at the oldest index that is not finished; those that are removed come first.
    package func stepIndexes(_ effort: IndexEffort = IndexEffort()) throws -> IndexStep {
        let row = try unfinished()
        (connection as? SQLiteConnection)?.log.copying.isBetweenSteps = row != nil
        guard let row else { return .nothing }
        let id = try row.int(0)
        if try row.text(5) == AutomaticIndex.State.dropping.rawValue { return try dropStep(id, effort) }
        guard let name = try row[4].textValue, let info = schema.classes[name],
            let index = info.automatic.first(where: { $0.id == id })
        else { throw ParseError.internalError }
        return try buildStep(index, of: info, after: row.int(2), through: row.int(3), effort)
    }

    /// Of the oldest index that is not finished: its number, that of its class, how far it is, the class's name, the
    /// state. Those that are removed come first.
    private func unfinished() throws -> SQLRow? {
        try connection.rows(
            """
            SELECT a.id, a.class, a.through, a.last, c.name, a.state FROM automaticIndexes a \
            LEFT JOIN classes c ON c.id = a.class WHERE a.state IN (?, ?) ORDER BY a.state DESC, a.id LIMIT 1
            """,
            [.text(AutomaticIndex.State.dropping.rawValue), .text(AutomaticIndex.State.building.rawValue)]
        ).first
    }

    private func buildStep(
        _ index: AutomaticIndex, of info: ClassInfo, after first: Int64, through last: Int64, _ effort: IndexEffort
    ) throws -> IndexStep {
        let source = try connection.statement(
            """
            SELECT \(try index.values(info, row: "")) FROM o\(info.id) WHERE id>? AND id<=? ORDER BY id LIMIT ?
            """)
        let marks = index.columns.map { _ in "?" }.joined(separator: ", ")
        // Those that changed meanwhile are there already.
        let target = try connection.statement("INSERT OR IGNORE INTO \(index.table) VALUES(\(marks))")
        defer {
            source.reset()
            target.reset()
        }
        try source.bind([.int(first), .int(last), .int(Int64(effort.rowsMax))])
        let end = effort.clock() + effort.nanosecondsMax
        var (rows, through) = (0, first)
        while try source.step() {
            for column in index.columns.indices {
                try target.bind(column: Int32(column), of: source, at: Int32(column + 1))
            }
            _ = try target.step()
            target.reset()
            through = source.int(0)
            rows += 1
            if effort.clock() >= end { break }
        }
        guard rows == 0 else {
            try connection.execute(
                "UPDATE automaticIndexes SET through = ? WHERE id = ?", [.int(through), .int(index.id)])
            return .rows(rows)
        }
        return try ready(index, of: info)
    }

    /// An index has all objects.
    private func ready(_ index: AutomaticIndex, of info: ClassInfo) throws -> IndexStep {
        try connection.execute(
            "UPDATE automaticIndexes SET state = ? WHERE id = ?",
            [.text(AutomaticIndex.State.ready.rawValue), .int(index.id)])
        try changeIndexes(of: info.name) { indexes in
            for place in indexes.indices where indexes[place].id == index.id { indexes[place].state = .ready }
        }
        return .ready(index.name)
    }

    private func dropStep(_ id: Int64, _ effort: IndexEffort) throws -> IndexStep {
        let end = effort.clock() + effort.nanosecondsMax
        var rows = 0
        while rows < effort.rowsMax {
            try connection.execute("DELETE FROM a\(id) WHERE object IN (SELECT object FROM a\(id) LIMIT 20)")
            let gone = connection.changes
            rows += gone
            if gone == 0 || effort.clock() >= end { break }
        }
        guard rows == 0 else { return .rows(rows) }
        try connection.executeOnce("DROP TABLE a\(id)")
        return try dropped(id)
    }

    /// An index is there no more.
    private func dropped(_ id: Int64) throws -> IndexStep {
        try connection.execute("DELETE FROM automaticIndexes WHERE id = ? AND isUnwanted = 0", [.int(id)])
        try connection.execute(
            "UPDATE automaticIndexes SET state = ? WHERE id = ?",
            [.text(AutomaticIndex.State.unwanted.rawValue), .int(id)])
        for name in schema.classes.keys where schema.classes[name]?.automatic.contains(where: { $0.id == id }) == true {
            try changeIndexes(of: name) { indexes in
                indexes.removeAll { $0.id == id && !$0.isUnwanted }
                for place in indexes.indices where indexes[place].id == id { indexes[place].state = .unwanted }
            }
        }
        return .dropped
    }

    private func changeIndexes(of className: String, _ change: (inout [AutomaticIndex]) -> Void) throws {
        guard var info = schema.classes[className] else { return }
        change(&info.automatic)
        schema.classes[className] = info
        try writer.advance(&schema)
    }
}

// MARK: - PostgreSQL

/// In PostgreSQL the server builds and removes an index beside the writes (`IndexBuilder`). The writer says what is to
/// be done, and takes note of what became of it.
extension StoreTransaction {
    /// Indexes that refuse values of objects go, and are not made again.
    func retireIndexes(_ ids: Set<Int64>) throws {
        for name in schema.classes.keys {
            for index in schema.classes[name]?.automatic ?? [] where index.isKept && ids.contains(index.id) {
                try retire(index, of: name)
            }
        }
    }

    /// What the server does next; nil when every index is finished.
    func nextIndexWork() throws -> IndexWork? {
        guard let row = try unfinished() else { return try connection.leftTables().map(IndexWork.dropTables) }
        let id = try row.int(0)
        if try row.text(5) == AutomaticIndex.State.dropping.rawValue { return .drop(id: id) }
        guard let name = try row[4].textValue, let info = schema.classes[name],
            let index = info.automatic.first(where: { $0.id == id })
        else { throw ParseError.internalError }
        return .build(id: id, table: "o\(info.id)", columns: try index.definition(info))
    }

    func ended(_ work: IndexWork, _ outcome: IndexOutcome) throws -> IndexStep {
        guard outcome != .later else { return .later }
        if case .dropTables(let id) = work {
            try connection.forgetTables(id)
            return .dropped
        }
        guard case .build(let id, _, _) = work else { return try dropped(work.id) }
        // It may have been removed meanwhile, with its class or without.
        let found = schema.classes.values.lazy.compactMap { info in
            info.automatic.first { $0.id == id && $0.state == .building }.map { (index: $0, info: info) }
        }.first
        guard let found else { return .later }
        if outcome == .done { return try ready(found.index, of: found.info) }
        try retire(found.index, of: found.info.name)
        return .unfit(found.index.name)
    }

    private func retire(_ index: AutomaticIndex, of className: String) throws {
        var retired = index
        try retired.retire(isUnwanted: true, connection)
        try changeIndexes(of: className) { indexes in
            for place in indexes.indices where indexes[place].id == retired.id { indexes[place] = retired }
        }
    }
}
