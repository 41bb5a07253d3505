import Messages
import ParseProtocol

/// What a run did with a class.
struct ClassResult: Sendable, Equatable {
    /// The class's name in Satchel.
    var name: String
    /// New or changed since the last run, and sent.
    var moved = 0
    var unchanged = 0
    var removed = 0
    var refused = 0
    /// Rows of relations and sessions whose owner the source lacks.
    var orphans = 0
    /// What the source says on the class.
    var notes: [String] = []

    var rows: Int { moved + unchanged + refused + orphans }
}

/// Hashes of the ids of a class whose objects own the rows of others.
struct OwnerIds: Sendable {
    var present = HashSet()
    /// Of objects that stay out, so that rows of theirs cannot be applied.
    var refused: Set<UInt64> = []
}

/// Stages the rows of one class that are new or differ from the staged ones.
///
/// Converts packs of rows while the source reads on, and has at most two requests in flight. So a class of any size
/// needs the memory of some packs and batches.
actor ClassTransfer: RowSink {
    private let suite: any MoveSuite
    private let mapping: Mapping
    private let refusals: any RefusalList
    private let files: FileMover?
    private var staged: StagedRows
    private var batches = Batches()
    private var converting: [Task<[Conversion], any Error>] = []
    private var sending: [Task<[RefusedRow], any Error>] = []
    private var result: ClassResult
    private var progress: ProgressLine
    /// The ids of the class whose objects own the rows; nil when no row needs an owner.
    private let owners: OwnerIds?
    private let collectsIds: Bool
    /// The ids of all rows, if they are collected.
    private(set) var ids = OwnerIds()

    private static let requestsAtOnce = 2
    private static let packsAhead = 4

    private enum Conversion: Sendable {
        case line(RowLine)
        case refused(RefusedRow)
        /// Its members are not listed: the role itself is.
        case deskRole(RefusedRow)
        case orphan

        /// - Parameter row: under its names in Satchel.
        init(_ row: MovedRow, _ owners: OwnerIds?) {
            if let role = row.deskRole {
                self = .deskRole(RefusedRow(row, "The role \(role) grants rights in Satchel: invite its members."))
                return
            }
            if let owners {
                let owner = IdHash.of(row.ownerId.utf8)
                guard !owners.refused.contains(owner) else {
                    self = .refused(RefusedRow(row, "Its owner was refused."))
                    return
                }
                guard owners.present.contains(owner) else {
                    self = .orphan
                    return
                }
            }
            guard let line = RowLine(row) else {
                self = .refused(RefusedRow(row, "Satchel takes no such id: 1 to 64 letters, digits, _ and -."))
                return
            }
            guard line.bytes.count <= RowLine.textBytesMax else {
                self = .refused(RefusedRow(row, "The object has \(line.bytes.count) bytes; the limit is 128 KB."))
                return
            }
            self = .line(line)
        }
    }

    /// - Parameters:
    ///   - className: the class's name in Satchel.
    ///   - owners: the ids of the class whose objects own the rows of a relation or the sessions.
    ///   - collectsIds: whether `ids` has the rows' ids at the end.
    ///   - files: nil when Files keep their old names.
    init(
        _ className: String, staged: StagedRows, owners: OwnerIds?, collectsIds: Bool, suite: any MoveSuite,
        mapping: Mapping, refusals: any RefusalList, files: FileMover? = nil
    ) {
        (self.staged, self.suite, self.mapping, self.refusals) = (staged, suite, mapping, refusals)
        self.files = files
        (self.owners, self.collectsIds) = (owners, collectsIds)
        result = ClassResult(name: className)
        progress = ProgressLine(className)
    }

    func take(_ rows: [MovedRow]) async throws {
        let (mapping, owners, files) = (mapping, owners, files)
        converting.append(
            Task.detached {
                // After the mapping, so that files of skipped fields stay out.
                var mapped = rows.compactMap { mapping.row($0) }
                if let files { mapped = try await files.moved(mapped) }
                return mapped.map { Conversion($0, owners) }
            })
        if converting.count > Self.packsAhead { try await add(converting.removeFirst().value) }
    }

    func refuse(_ refusal: RefusedRow) async throws {
        if collectsIds, let id = refusal.objectId { ids.refused.insert(IdHash.of(id.utf8)) }
        try await list(refusal)
    }

    private func list(_ refusal: RefusedRow) async throws {
        result.refused += 1
        try await refusals.add(refusal)
    }

    func note(_ sentence: String, on className: String) async throws { result.notes.append(sentence) }

    /// Waits until everything is staged.
    /// - Parameter isWhole: whether the source showed every row; then staged rows that it did not show are removed.
    func finish(isWhole: Bool) async throws -> ClassResult {
        while !converting.isEmpty { try await add(converting.removeFirst().value) }
        if let last = batches.take() { try await send(last) }
        while !sending.isEmpty { try await awaitFirst() }
        if isWhole, staged.missingCount > 0 { try await removeMissing() }
        progress.finish(result)
        return result
    }

    /// Ends the requests of a run that failed.
    func cancel() {
        for task in sending { task.cancel() }
        for task in converting { task.cancel() }
    }

    private func add(_ pack: [Conversion]) async throws {
        for conversion in pack {
            switch conversion {
            case .refused(let refusal): try await refuse(refusal)
            case .deskRole(let refusal): try await list(refusal)
            case .orphan: result.orphans += 1
            case .line(let line):
                if collectsIds { ids.present.insert(line.idHash) }
                guard staged.meet(id: line.idHash, checksum: line.checksum) != .same else {
                    result.unchanged += 1
                    continue
                }
                result.moved += 1
                if let full = batches.add(line) { try await send(full) }
            }
        }
        progress.update(result)
    }

    private func send(_ batch: Batch) async throws {
        while sending.count >= Self.requestsAtOnce { try await awaitFirst() }
        let (suite, name) = (suite, result.name)
        sending.append(Task { try await Self.stage(batch, of: name, in: suite) })
    }

    private func awaitFirst() async throws {
        for refusal in try await sending.removeFirst().value {
            result.moved -= 1
            try await refuse(refusal)
        }
    }

    /// Codes by which the suite refuses a batch because of one of its rows.
    private static let rowCodes: Set<Int64> = [107, 116]

    /// Stages a batch. Halves a refused one until the row at fault is alone.
    private static func stage(
        _ batch: Batch, of className: String, in suite: any MoveSuite
    ) async throws -> [RefusedRow] {
        do {
            try await suite.stage(batch, of: className)
            return []
        } catch let refusal as SuiteRefusal where refusal.code.map({ rowCodes.contains($0) }) == true {
            guard let (first, second) = batch.halves else {
                let place = SourcePlace(file: className, offset: nil)
                return [
                    RefusedRow(
                        className: className, objectId: batch.firstId, place: place, reason: refusal.message)
                ]
            }
            return try await stage(first, of: className, in: suite) + stage(second, of: className, in: suite)
        }
    }

    private func removeMissing() async throws {
        let staged = staged
        var gone: [String] = []
        for try await page in StagedPages(suite, result.name) {
            gone += page.rows.lazy.filter { staged.isMissing(id: IdHash.of($0.id.utf8)) }.map { $0.id }
            while gone.count >= Batches.rowsMax {
                try await suite.unstage(Array(gone.prefix(Batches.rowsMax)), of: result.name, dropsClass: false)
                result.removed += Batches.rowsMax
                gone.removeFirst(Batches.rowsMax)
            }
        }
        if !gone.isEmpty { try await suite.unstage(gone, of: result.name, dropsClass: false) }
        result.removed += gone.count
    }
}

extension MovedRow {
    /// The id of the object without which the row of a relation or a session means nothing; empty when it is missing.
    var ownerId: String {
        if className == "_Session" {
            return fields["user"]?.pointerTarget?.objectId ?? fields["user"]?.stringValue ?? ""
        }
        return String(objectId.prefix { $0 != ":" })
    }

    /// The name of a role that runs an area of Satchel's dashboard, which no import may fill.
    var deskRole: String? {
        guard className == "_Role", let name = fields["name"]?.stringValue, OperatorArea.roles.contains(name) else {
            return nil
        }
        return name
    }
}

extension RefusedRow {
    init(_ row: MovedRow, _ reason: String) {
        self.init(className: row.className, objectId: row.objectId, place: row.place, reason: reason)
    }
}

/// Pages of a class's staged rows.
struct StagedPages: AsyncSequence, AsyncIteratorProtocol {
    private static let rowsMax = 50_000

    private let suite: any MoveSuite
    private let className: String
    private var last: String?
    private var isOver = false

    init(_ suite: any MoveSuite, _ className: String) { (self.suite, self.className) = (suite, className) }

    func makeAsyncIterator() -> StagedPages { self }

    mutating func next() async throws -> StagedPage? {
        guard !isOver else { return nil }
        let page = try await suite.staged(className, after: last ?? "", limit: Self.rowsMax)
        last = page.rows.last?.id
        isOver = last == nil
        return isOver ? nil : page
    }
}
