import ParseProtocol

/// Proves a move: reads the old server again and compares each object with what is staged, or after the switch with
/// what the suite serves, by checksums. Relations, permissions of objects and classes, and sampled queries included.
struct VerifyRun: Sendable {
    let source: any OldServer
    let suite: any MoveSuite & ServedSuite
    let mapping: Mapping
    let seed: UInt64
    var now = Timestamp.now
    var withFiles: RowsWithFiles = { $0 }

    /// - Throws: `MoveInError` while a switch runs, and when the source cannot be read.
    func run() async throws -> VerifyReport {
        let plan = try ClassPlan(try await source.classes(), mapping)
        let state = try await suite.state()
        guard state.phase != .switching else { throw MoveInError("The suite is switching: see --status.") }
        let isStaged = !state.classes.isEmpty
        let expected = Dictionary(state.classes.map { ($0.name, $0.rows) }, uniquingKeysWith: max)
        let schemas = try await suite.servedSchemas()
        let served = Set(schemas.compactMap { $0["className"]?.stringValue })
        var proofs: [ClassProof] = []
        var ids: [String: HashSet] = [:]
        for planned in plan.staged {
            let name = planned.schema.name
            let here =
                try await
                (isStaged
                ? stagedRows(name, expecting: expected[name] ?? 0)
                : servedRows(name, isServed: served.contains(name)))
            let collectsIds = plan.owners.contains(name)
            let check = ClassCheck(
                name, here: here, isStaged: isStaged, owners: ClassPlan.owner(of: name).flatMap { ids[$0] },
                collectsIds: collectsIds, seed: seed, now: now, suite: suite, mapping: mapping,
                oldServer: mapping == Mapping() ? source as? any QueriedServer : nil, withFiles: withFiles)
            try await source.read(planned.oldName, since: nil, into: check)
            proofs.append(try await check.finish())
            guard collectsIds else { continue }
            var collected = await check.ids
            collected.compact()
            ids[name] = collected
        }
        ProgressLine.end()
        if isStaged {
            // The switch would show them.
            let planned = Set(plan.staged.map(\.schema.name))
            for staged in state.classes where staged.rows > 0 && !planned.contains(staged.name) {
                var proof = ClassProof(name: staged.name, here: staged.rows)
                proof.extra = staged.rows
                proofs.append(proof)
            }
        }
        let differences =
            isStaged ? [] : plan.staged.flatMap { Self.differences(of: $0.schema, in: schemas) }
        return VerifyReport(
            isStaged: isStaged, seed: seed, classes: proofs.filter { $0.there + $0.here > 0 }, schemas: differences)
    }

    // MARK: The suite's side

    private func stagedRows(_ className: String, expecting count: Int) async throws -> StagedRows {
        var rows = StagedRows(expecting: count)
        if count > 0 {
            for try await page in StagedPages(suite, className) {
                for row in page.rows { rows.add(id: IdHash.of(row.id.utf8), checksum: row.checksum) }
            }
        }
        rows.sort()
        return rows
    }

    private func servedRows(_ className: String, isServed: Bool) async throws -> StagedRows {
        var rows = StagedRows(expecting: 0)
        if RelationName(className) != nil {
            for try await page in MemberPages(suite, className) {
                for id in page { rows.add(id: IdHash.of(id.utf8), checksum: 0) }
            }
        } else if isServed || className.hasPrefix("_") {
            for try await page in ServedPages(suite, className) {
                for object in page.compactMap(\.objectValue) {
                    guard let id = object["objectId"]?.stringValue, !ClassCheck.isExpired(className, object, now)
                    else { continue }
                    let canonical = Canonical.fields(object, of: className)
                    rows.add(id: IdHash.of(id.utf8), checksum: Canonical.checksum(canonical))
                }
            }
        }
        rows.sort()
        return rows
    }

    // MARK: Classes

    /// Sentences on fields that the suite lacks or has with another type, and on other permissions.
    static func differences(of wanted: MovedClass, in schemas: [JSON]) -> [String] {
        guard RelationName(wanted.name) == nil else { return [] }
        guard let found = schemas.first(where: { $0["className"]?.stringValue == wanted.name }) else {
            // The suite makes a class with its first object.
            return wanted.name.hasPrefix("_") || wanted.fields.isEmpty ? [] : ["\(wanted.name) is missing."]
        }
        let own = Set((SuiteFields.own[wanted.name] ?? [:]).keys)
        var sentences: [String] = []
        for (field, type) in wanted.fields.sorted(by: { $0.key < $1.key }) where !field.hasPrefix("_") {
            guard !own.contains(field), !["objectId", "createdAt", "updatedAt", "ACL"].contains(field) else { continue }
            let present = found["fields"]?[field]
            // A field of numbers and texts.
            if present?["alsoText"] == true, ["Number", "String"].contains(type["type"]) { continue }
            guard present?["type"] != type["type"] || present?["targetClass"] != type["targetClass"] else { continue }
            let name = { (type: JSON?) in
                [type?["type"], type?["targetClass"]].compactMap { $0?.stringValue }.joined(separator: " of ")
            }
            let here = present.map { name($0) } ?? "missing"
            sentences.append("\(wanted.name).\(field) is \(name(type)) there and \(here) here.")
        }
        if !SuiteFields.definedClasses.contains(wanted.name), let permissions = wanted.classLevelPermissions {
            let old = Canonical.permissions(permissions)
            let new = Canonical.permissions(found["classLevelPermissions"] ?? [:])
            for right in Set((old.objectValue ?? [:]).keys).union((new.objectValue ?? [:]).keys).sorted()
            where old[right] != new[right] {
                let values = [old, new].map { $0[right]?.serializedText ?? "nobody" }
                let name = "\(wanted.name).\(right)"
                sentences.append("The permission \(name) is \(values[0]) there and \(values[1]) here.")
            }
        }
        return sentences
    }
}
