import ParseProtocol

/// Gives mapped rows the names under which the suite stores their files, as a run does.
typealias RowsWithFiles = @Sendable ([MovedRow]) async throws -> [MovedRow]

/// Compares the rows of one class of the old server with what the suite has of them.
///
/// Remembers 16 bytes for each object of the suite, and keeps some rows whose checksums differ until they are compared
/// field by field.
actor ClassCheck: RowSink {
    private let suite: any MoveSuite & ServedSuite
    private let mapping: Mapping
    private let withFiles: RowsWithFiles
    private let oldServer: (any QueriedServer)?
    private let isStaged: Bool
    private let now: Timestamp
    private var here: StagedRows
    private let owners: HashSet?
    private let collectsIds: Bool
    private(set) var ids = HashSet()
    private var result: ClassProof
    private var suspects: [MovedRow] = []
    private var queries: SampledQueries
    private var progress = 0

    private static let suspectsMax = 50

    /// - Parameters:
    ///   - here: what the suite has, sorted.
    ///   - isStaged: whether the staged rows are compared, and not what clients see.
    ///   - oldServer: asked the sampled queries; nil when only rows can be read, or when they get other names.
    ///   - owners: the ids of the class whose objects own the rows; nil when no row needs an owner.
    init(
        _ className: String, here: StagedRows, isStaged: Bool, owners: HashSet?, collectsIds: Bool, seed: UInt64,
        now: Timestamp, suite: any MoveSuite & ServedSuite, mapping: Mapping,
        oldServer: (any QueriedServer)? = nil, withFiles: @escaping RowsWithFiles = { $0 }
    ) {
        (self.suite, self.mapping, self.isStaged, self.now) = (suite, mapping, isStaged, now)
        (self.oldServer, self.withFiles) = (oldServer, withFiles)
        (self.here, self.owners, self.collectsIds) = (here, owners, collectsIds)
        result = ClassProof(name: className, here: here.count)
        queries = SampledQueries(seed: seed &+ FNV1a.hash(className.utf8))
    }

    func take(_ rows: [MovedRow]) async throws {
        for row in try await withFiles(rows.compactMap { mapping.row($0) }) {
            result.there += 1
            guard isMoved(row) else {
                result.leftOut += 1
                continue
            }
            guard let line = RowLine(row), line.bytes.count <= RowLine.textBytesMax else {
                result.refused += 1
                continue
            }
            if collectsIds { ids.insert(line.idHash) }
            try await compare(row, line)
        }
        progress += rows.count
        if progress % 100_000 < rows.count { ProgressLine.show("Comparing \(result.name): \(progress) rows") }
    }

    func refuse(_ refusal: RefusedRow) async throws {
        result.there += 1
        result.refused += 1
    }

    /// Ends the comparison, and asks the sampled queries.
    func finish() async throws -> ClassProof {
        try await settle()
        result.extra = here.missingCount
        if result.extra > 0 { try await findExtra() }
        if !isStaged, RelationName(result.name) == nil { try await ask() }
        return result
    }

    /// Whether a run moves the row.
    private func isMoved(_ row: MovedRow) -> Bool {
        if row.deskRole != nil || !isStaged && Self.isExpired(row.className, row.fields, now) { return false }
        return owners?.contains(IdHash.of(row.ownerId.utf8)) ?? true
    }

    /// A session that has ended is soon removed on either side.
    static func isExpired(_ className: String, _ fields: [String: JSON], _ now: Timestamp) -> Bool {
        guard className == "_Session", let text = fields["expiresAt"]?["iso"]?.stringValue,
            let end = Timestamp(iso: text)
        else { return false }
        return end < now
    }

    private func compare(_ row: MovedRow, _ line: RowLine) async throws {
        var checksum = line.checksum
        if !isStaged {
            if RelationName(row.className) == nil {
                let canonical = Canonical.fields(row.fields, of: row.className)
                queries.take(row, canonical)
                checksum = Canonical.checksum(canonical)
            } else {
                checksum = 0
            }
        }
        switch here.meet(id: line.idHash, checksum: checksum) {
        case .same: result.equal += 1
        case .new: note(missing: row)
        case .changed where isStaged:
            result.different += 1
            result.add(
                FieldDifference(
                    className: row.className, objectId: row.objectId, field: nil, old: "changed since the last run",
                    new: "the former row is staged"))
        case .changed:
            suspects.append(row)
            if suspects.count >= Self.suspectsMax { try await settle() }
        }
    }

    private func note(missing row: MovedRow) {
        result.missing += 1
        result.add(
            FieldDifference(
                className: row.className, objectId: row.objectId, field: nil, old: "an object", new: "nothing"))
    }

    /// Compares the rows whose checksums differ, field by field: some differences mean nothing.
    private func settle() async throws {
        let rows = suspects
        suspects = []
        guard !rows.isEmpty else { return }
        let objects = try await suite.objects(result.name, rows.map(\.objectId))
        for row in rows {
            guard let object = objects[row.objectId] else {
                note(missing: row)
                continue
            }
            let found = RowComparison.differences(row, object)
            guard !found.isEmpty else {
                result.equal += 1
                continue
            }
            let changedAt = object["updatedAt"]?.stringValue.flatMap { Timestamp(iso: $0) }?.milliseconds ?? 0
            if let updatedAt = row.updatedAt, changedAt > updatedAt {
                result.newer += 1
            } else {
                result.different += 1
                for difference in found { result.add(difference) }
            }
        }
    }

    private func findExtra() async throws {
        var examples: [String] = []
        func look(_ ids: [String]) -> Bool {
            examples += ids.filter { here.isMissing(id: IdHash.of($0.utf8)) }
            return examples.count >= min(result.extra, ClassProof.examplesMax)
        }
        if isStaged {
            for try await page in StagedPages(suite, result.name) where look(page.rows.map { $0.id }) { break }
        } else if RelationName(result.name) != nil {
            for try await page in MemberPages(suite, result.name) where look(page) { break }
        } else {
            for try await page in ServedPages(suite, result.name)
            where look(page.compactMap { $0["objectId"]?.stringValue }) { break }
        }
        for id in examples.prefix(ClassProof.examplesMax) {
            result.add(
                FieldDifference(className: result.name, objectId: id, field: nil, old: "nothing", new: "an object"),
                isExtra: true)
        }
    }

    private func ask() async throws {
        queries.finish()
        for query in queries.queries where !query.isUndecided {
            result.queries += 1
            let found = QueryAnswer(try await suite.json("/classes/\(result.name)", query.options))
            // What the old server answers counts: it may sort texts by another rule.
            let expected = try await oldServer?.answer(result.name, query) ?? query.expected
            guard found != expected else { continue }
            result.failedQueries.append("\(query.text(result.name)): there \(expected.text), here \(found.text)")
        }
    }
}
