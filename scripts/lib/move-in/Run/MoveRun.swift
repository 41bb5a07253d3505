import ParseProtocol

/// A run: makes the staged rows of a suite equal to the rows of the source.
///
/// There is no local state. Each run compares the source with the staged rows: so the next run continues a killed one,
/// and a later run sends only changes.
///
/// Rows of relations and sessions stay out when the source lacks their owner: Parse Server leaves such rows behind when
/// it deletes an object and ignores them, and the switch could not apply them. Rows of a refused owner are refused.
struct MoveRun: Sendable {
    let source: any OldServer
    let suite: any MoveSuite
    let mapping: Mapping
    let refusals: any RefusalList
    var files: FileMover?
    /// Whether staged classes that the source lacks are un-staged: it may be a part of the whole.
    var dropsClasses = false

    /// - Throws: `MoveInError` before anything is sent when the mapping or a class's name is wrong, or when the source
    ///   lacks a staged class.
    func run() async throws -> [ClassResult] {
        let plan = try ClassPlan(try await source.classes(), mapping)
        let state = try await suite.state()
        guard state.phase != .switching else { throw MoveInError("The suite is switching: see --status.") }
        let kept = Set(plan.staged.map(\.schema.name))
        let gone = state.classes.filter { !kept.contains($0.name) }
        // Some classes are listed only while they have rows.
        let lost = gone.filter {
            $0.rows > 0 && !plan.leaving.contains($0.name) && !MovedClass.unlisted.contains($0.name)
        }.map(\.name).sorted()
        guard dropsClasses || lost.isEmpty else {
            throw MoveInError(
                """
                SOURCE has no \(lost.joined(separator: ", ")), which \(lost.count == 1 ? "is" : "are") staged. \
                Give the whole source, or --drop-classes.
                """)
        }
        let rows = Dictionary(state.classes.map { ($0.name, $0.rows) }, uniquingKeysWith: max)
        var results: [ClassResult] = []
        var ids: [String: OwnerIds] = [:]
        let owners = plan.owners
        for planned in plan.staged {
            let name = planned.schema.name
            if RelationName(name) == nil { try await suite.stage(planned.schema.acceptable) }
            let transfer = try await transfer(
                name, expecting: rows[name] ?? 0, owners: ClassPlan.owner(of: name).flatMap { ids[$0] },
                collectsIds: owners.contains(name))
            results.append(try await move(planned, transfer))
            guard owners.contains(name) else { continue }
            var collected = await transfer.ids
            collected.present.compact()
            ids[name] = collected
        }
        for staged in gone {
            let transfer = try await transfer(staged.name, expecting: staged.rows)
            results.append(try await transfer.finish(isWhole: true))
            // The switch would apply the schema, though no row is left.
            try await suite.unstage([], of: staged.name, dropsClass: true)
        }
        return results
    }

    private func move(_ planned: ClassPlan.Planned, _ transfer: ClassTransfer) async throws -> ClassResult {
        do {
            try await source.read(planned.oldName, since: nil, into: transfer)
            return try await transfer.finish(isWhole: true)
        } catch {
            await transfer.cancel()
            throw error
        }
    }

    private func transfer(
        _ className: String, expecting rows: Int, owners: OwnerIds? = nil, collectsIds: Bool = false
    ) async throws -> ClassTransfer {
        var staged = StagedRows(expecting: rows)
        if rows > 0 {
            for try await page in StagedPages(suite, className) {
                for row in page.rows { staged.add(id: IdHash.of(row.id.utf8), checksum: row.checksum) }
            }
        }
        staged.sort()
        return ClassTransfer(
            className, staged: staged, owners: owners, collectsIds: collectsIds, suite: suite, mapping: mapping,
            refusals: refusals, files: files)
    }
}

/// The classes of a source under their names in Satchel.
struct ClassPlan: Sendable {
    struct Planned: Sendable, Equatable {
        var oldName: String
        var schema: MovedClass
    }

    /// Users first, then the other classes, then relations; so owners precede their rows.
    private(set) var staged: [Planned] = []
    /// The source's classes that the mapping skips or renames, under their old names.
    private(set) var leaving: Set<String> = []

    /// - Throws: `MoveInError` that names every wrong name of the mapping, or every class that has no place in Satchel.
    init(_ classes: [MovedClass], _ mapping: Mapping) throws {
        try mapping.check(classes)
        var impossible: [String] = []
        for old in classes {
            let mapped = mapping.schema(old)
            if mapped?.name != old.name { leaving.insert(old.name) }
            guard let schema = mapped else { continue }
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
        let name = planned.schema.name
        return (name == "_User" ? 0 : RelationName(name) == nil ? 1 : 2, name)
    }

    /// The class whose objects own the rows of this one.
    static func owner(of className: String) -> String? {
        className == "_Session" ? "_User" : RelationName(className)?.className
    }

    /// The classes that own rows of others.
    var owners: Set<String> { Set(staged.compactMap { Self.owner(of: $0.schema.name) }) }
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
