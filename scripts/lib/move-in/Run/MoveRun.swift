import ParseProtocol

/// A run: makes the staged rows of a suite equal to the rows of the source.
///
/// There is no local state. Each run compares the source with the staged rows: so the next run continues a killed one,
/// and a later run sends only changes.
struct MoveRun: Sendable {
    let source: any OldServer
    let suite: any MoveSuite
    let mapping: Mapping
    let refusals: any RefusalList

    /// - Throws: `MoveInError` before anything is sent when the mapping or a class's name is wrong.
    func run() async throws -> [ClassResult] {
        let plan = try ClassPlan(try await source.classes(), mapping)
        let state = try await suite.state()
        guard state.phase != .switching else { throw MoveInError("The suite is switching: see --status.") }
        let rows = Dictionary(state.classes.map { ($0.name, $0.rows) }, uniquingKeysWith: max)
        var results: [ClassResult] = []
        for planned in plan.staged {
            if RelationName(planned.schema.name) == nil { try await suite.stage(planned.schema.acceptable) }
            results.append(try await move(planned, expecting: rows[planned.schema.name] ?? 0))
        }
        // Classes that the source or the mapping no longer has.
        let kept = Set(plan.staged.map(\.schema.name))
        for staged in state.classes where !kept.contains(staged.name) && staged.rows > 0 {
            let transfer = try await transfer(staged.name, expecting: staged.rows)
            results.append(try await transfer.finish(isWhole: true))
        }
        return results
    }

    private func move(_ planned: ClassPlan.Planned, expecting rows: Int) async throws -> ClassResult {
        let transfer = try await transfer(planned.schema.name, expecting: rows)
        do {
            try await source.read(planned.oldName, since: nil, into: transfer)
            return try await transfer.finish(isWhole: true)
        } catch {
            await transfer.cancel()
            throw error
        }
    }

    private func transfer(_ className: String, expecting rows: Int) async throws -> ClassTransfer {
        var staged = StagedRows(expecting: rows)
        if rows > 0 {
            for try await page in StagedPages(suite, className) {
                for row in page.rows { staged.add(id: IdHash.of(row.id.utf8), checksum: row.checksum) }
            }
        }
        staged.sort()
        return ClassTransfer(className, staged: staged, suite: suite, mapping: mapping, refusals: refusals)
    }
}

/// The classes of a source under their names in Satchel.
struct ClassPlan: Sendable {
    struct Planned: Sendable, Equatable {
        var oldName: String
        var schema: MovedClass
    }

    /// Classes first, then relations, both by name.
    private(set) var staged: [Planned] = []

    /// - Throws: `MoveInError` that names every wrong name of the mapping, or every class that has no place in Satchel.
    init(_ classes: [MovedClass], _ mapping: Mapping) throws {
        try mapping.check(classes)
        var impossible: [String] = []
        for old in classes {
            guard let schema = mapping.schema(old) else { continue }
            switch ClassKind(schema.name) {
            case .staged: staged.append(Planned(oldName: old.name, schema: schema))
            case .impossible: impossible.append(schema.name)
            case .settings, .ignored: break
            }
        }
        guard impossible.isEmpty else {
            throw MoveInError(
                """
                Satchel takes no class of these names: \(impossible.sorted().joined(separator: ", ")). \
                Rename them or skip them (null) in the file of --map.
                """)
        }
        staged.sort { Self.order($0) < Self.order($1) }
    }

    private static func order(_ planned: Planned) -> (Int, String) {
        (RelationName(planned.schema.name) == nil ? 0 : 1, planned.schema.name)
    }
}

extension MovedClass {
    /// Names of indexes that Satchel cannot make, because they are no list of fields.
    var indexesLacking: [String] {
        indexes.filter { !Self.ownIndexes.contains($0.key) && !Self.isPossible($0.value) }.keys.sorted()
    }

    /// The class without the indexes that Satchel cannot make, and without Parse Server's own, which Satchel has.
    var acceptable: MovedClass {
        var result = self
        result.indexes = indexes.filter { !Self.ownIndexes.contains($0.key) && Self.isPossible($0.value) }
        return result
    }

    private static let ownIndexes: Set<String> = [
        "_id_", "username_1", "email_1", "case_insensitive_username", "case_insensitive_email", "name_1",
        "_email_verify_token", "_perishable_token", "ttl", "ix_session_token",
    ]

    private static func isPossible(_ index: JSON) -> Bool {
        guard var members = index.objectValue else { return false }
        members["_unique"] = nil
        members["_order"] = nil
        return !members.isEmpty
            && members.allSatisfy { name, direction in
                (Names.isFieldName(name) || name == "objectId") && [1, -1, "text"].contains(direction)
            }
    }
}
