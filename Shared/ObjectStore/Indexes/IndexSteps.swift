import ParseProtocol

/// The budget of one step of index work, during which other writes wait.
package struct IndexEffort: Sendable {
    /// Maximum rows; they also determine how much a commit writes to the disk.
    package var rowsMax = 300
    /// Nanoseconds, checked after each row.
    package var nanosecondsMax: UInt64 = 10_000_000
    /// Nanoseconds of a monotonic clock.
    package var clock: @Sendable () -> UInt64 = { TimeLimit.monotonic }

    package init() {}
}

/// The outcome of a step.
package enum IndexStep: Sendable, Hashable {
    /// There is no index to build or remove.
    case nothing
    /// Number of rows that were added or removed.
    case rows(Int)
    /// The index with this name answers queries from now on.
    case ready(String)
    /// The table of an index was removed.
    case dropped
    /// The index with this name is removed again, because values are too long for it.
    case unfit(String)
    /// Work remains, but cannot be done now: another process uses the server's build slot, or the build was
    /// interrupted.
    case later
}

/// Builds and removes automatic indexes in steps. Each step is a short job of the writer. The database stores the
/// progress, so a crash loses no committed step.
extension StoreTransaction {
    /// One step on the oldest unfinished index; removals come first.
    package func stepIndexes(_ effort: IndexEffort = IndexEffort()) throws -> IndexStep {
        let text = try stepText(effort)
        let row = try unfinished()
        (connection as? SQLiteConnection)?.log.copying.isBuildingIndex = text != nil || row != nil
        if let text { return text }
        guard let row else { return .nothing }
        let id = try row.int(0)
        if try row.text(5) == AutomaticIndex.State.dropping.rawValue { return try dropStep(id, effort) }
        guard let name = try row[4].textValue, let info = schema.classes[name],
            let index = info.automatic.first(where: { $0.id == id })
        else { throw ParseError.internalError }
        return try buildStep(index, of: info, after: row.int(2), through: row.int(3), effort)
    }

    /// One step on a text index that lacks objects; nil when there is none.
    func stepText(_ effort: IndexEffort) throws -> IndexStep? {
        guard var info = schema.classes.values.first(where: { $0.textState == .building }) else { return nil }
        let rows = try TextIndex.extend(info, effort, connection)
        guard rows == 0 else { return .rows(rows) }
        try connection.requireExclusive()
        try TextIndex.finish(info, connection)
        info.textState = .complete
        schema.classes[info.name] = info
        try writer.advance(&schema)
        return .ready("text")
    }

    /// Creates the text and geo indexes anew from the objects, after damage.
    func renewIndexes() throws {
        for info in schema.classes.values where !info.textFields.isEmpty || info.geoField != nil {
            try GeoIndex.create(info, connection)
            guard !info.textFields.isEmpty else { continue }
            try writer.beginText(of: info)
            schema.classes[info.name]?.textState = try TextIndex.state(of: info, connection)
        }
        try writer.advance(&schema)
    }

    /// The oldest unfinished index: its number, its class's number, its progress, the last row to add, the class's name
    /// and the state. Removals come first.
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
        // Rows of objects that changed meanwhile exist already.
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

    /// Marks an index as ready when it contains all objects.
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

    /// Records that an index was removed.
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

/// In PostgreSQL the server builds and removes an index concurrently with writes (`IndexBuilder`). The writer decides
/// what to do and records the outcome.
extension StoreTransaction {
    /// Removes indexes that reject values of objects, and does not create them again.
    func retireIndexes(_ ids: Set<Int64>) throws {
        for name in schema.classes.keys {
            for index in schema.classes[name]?.automatic ?? [] where index.isKept && ids.contains(index.id) {
                try retire(index, of: name)
            }
        }
    }

    /// The server's next work; nil when every index is finished.
    func nextIndexWork() throws -> IndexWork? {
        guard let row = try unfinished() else { return nil }
        let id = try row.int(0)
        if try row.text(5) == AutomaticIndex.State.dropping.rawValue { return .drop(id: id) }
        guard let name = try row[4].textValue, let info = schema.classes[name],
            let index = info.automatic.first(where: { $0.id == id })
        else { throw ParseError.internalError }
        return .build(id: id, table: "o\(info.id)", columns: try index.definition(info))
    }

    func ended(_ work: IndexWork, _ outcome: IndexOutcome) throws -> IndexStep {
        guard outcome != .later else { return .later }
        guard case .build(let id, _, _) = work else { return try dropped(work.id) }
        // It may have been removed meanwhile, with or without its class.
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
