import Cryptography
import ParseProtocol

/// What happened to the files so far.
struct FileFigures: Sendable, Equatable {
    var copied = 0
    /// Files that the suite had already.
    var unchanged = 0
    var lacking = 0
    var bytes = 0

    var text: String {
        let all = copied + unchanged + lacking
        let text = "\(all) files: \(copied) copied (\(bytes / 1000) KB), \(unchanged) unchanged"
        return lacking > 0 ? "\(text), \(lacking) not moved" : text
    }
}

/// Copies the files of rows into the running suite, eight at a time, and renames them in the rows.
///
/// There is no local state: each run asks the suite for each file's checksum, so that the next run continues a killed
/// one.
actor FileMover {
    /// The largest file that a suite can be set to take (`SATCHEL_FILE_BYTES_MAX`).
    static let bytesMax = 48 << 20
    /// Larger files are copied alone, which bounds the memory.
    static let smallBytesMax = 10 << 20
    static let copiesAtOnce = 8
    /// Files whose fate is remembered.
    private static let knownMax = 100_000
    /// Satchel's limit of a File's name.
    private static let nameBytesMax = 200
    /// Files without an answer, one after another, that end the run.
    private static let awayMax = 20

    private enum Fate: Sendable, Equatable {
        case moved(name: String)
        /// - Parameter name: under which an earlier run stored the file; nil when the suite lacks it.
        case lacking(reason: String, name: String?)
    }

    private let shelves: [any FileShelf]
    private let suite: any FileSuite
    private let sends: Bool
    private let lack: @Sendable (RefusedRow) async throws -> Void
    private let progress: @Sendable (FileFigures) -> Void
    private let places = CopyPlaces(FileMover.copiesAtOnce)
    private(set) var figures = FileFigures()
    private var awayInARow = 0
    private var known: [OldFile: Fate] = [:]
    /// By the name in the suite.
    private var running: [String: Task<Fate, any Error>] = [:]

    /// - Parameters:
    ///   - shelves: asked one after another.
    ///   - sends: false for a dry run, which asks local shelves alone and stores nothing.
    ///   - lack: receives each row with a file that could not be moved. The row itself moves.
    ///   - progress: is called after each file.
    init(
        shelves: [any FileShelf], suite: any FileSuite, sends: Bool = true,
        lack: @escaping @Sendable (RefusedRow) async throws -> Void,
        progress: @escaping @Sendable (FileFigures) -> Void = { _ in }
    ) {
        (self.shelves, self.suite, self.sends) = (shelves, suite, sends)
        (self.lack, self.progress) = (lack, progress)
    }

    /// Moves the files of rows.
    ///
    /// A File that could not be moved has the name under which an earlier run stored it, or else keeps its own. Satchel
    /// stores no address, so that clients get one of the suite, which answers 404 until a later run moves the file.
    /// - Returns: the rows, with the names under which the suite stores the files.
    /// - Throws: `MoveInError` when the suite or a shelf does not work; errors of `lack`.
    func moved(_ rows: [MovedRow]) async throws -> [MovedRow] {
        let filesOfRows = rows.map { FileValues.all(in: $0.fields) }
        let files = Set(filesOfRows.joined())
        guard !files.isEmpty else { return rows }
        var fates: [OldFile: Fate] = [:]
        try await withThrowingTaskGroup(of: (OldFile, Fate).self) { group in
            for file in files { group.addTask { (file, try await self.fate(of: file)) } }
            for try await (file, fate) in group { fates[file] = fate }
        }
        var result: [MovedRow] = []
        result.reserveCapacity(rows.count)
        for (row, files) in zip(rows, filesOfRows) {
            guard !files.isEmpty else {
                result.append(row)
                continue
            }
            for file in files {
                guard case .lacking(let reason, _)? = fates[file] else { continue }
                try await lack(
                    RefusedRow(
                        className: row.className, objectId: row.objectId, place: row.place,
                        reason: "The file \(file.name.prefix(Self.nameBytesMax)) was not moved: \(reason)."))
            }
            var row = row
            row.fields = FileValues.renamed(row.fields) { file in
                if case .moved(let name)? = fates[file] { return name }
                if case .lacking(_, let name?)? = fates[file] { return name }
                let fits = file.name.utf8.count <= Self.nameBytesMax && !file.name.hasNull
                return fits ? file.name : file.storedName
            }
            result.append(row)
        }
        return result
    }

    private func fate(of file: OldFile) async throws -> Fate {
        let name = file.storedName
        // Two files of one name must not both find it free.
        while let other = running[name] {
            if let known = known[file] { return known }
            _ = try await other.value
        }
        if let known = known[file] { return known }
        let task = Task {
            // By the task itself, so that the next task of this name finds it free.
            defer { running[name] = nil }
            let fate = try await copied(file, as: name)
            if known.count >= Self.knownMax { known = [:] }
            known[file] = fate
            if case .lacking = fate { figures.lacking += 1 }
            progress(figures)
            return fate
        }
        running[name] = task
        return try await withTaskCancellationHandler {
            try await task.value
        } onCancel: {
            task.cancel()
        }
    }

    /// - Throws: `MoveInError` when one file after another gets no answer.
    private func copied(_ file: OldFile, as name: String) async throws -> Fate {
        do {
            let fate = try await copiedWithinLimits(file, as: name)
            awayInARow = 0
            return fate
        } catch is AnswerTooLarge {
            return try await lacking(name, "it has more than \(Self.bytesMax) bytes")
        } catch let problem as ShelfProblem {
            awayInARow = problem.isAway ? awayInARow + 1 : 0
            guard awayInARow < Self.awayMax else {
                throw MoveInError("\(Self.awayMax) files in a row got no answer. The last one: \(problem.reason)")
            }
            return try await lacking(name, problem.reason)
        }
    }

    private func lacking(_ name: String, _ reason: String) async throws -> Fate {
        let stored = sends ? try await suite.checksum(of: name) : nil
        return .lacking(reason: reason, name: stored == nil ? nil : name)
    }

    private func copiedWithinLimits(_ file: OldFile, as name: String) async throws -> Fate {
        do {
            return try await places.with(1) {
                try await self.copy(file, as: name, bytesMax: Self.smallBytesMax)
            }
        } catch is AnswerTooLarge {
            return try await places.with(Self.copiesAtOnce) {
                try await self.copy(file, as: name, bytesMax: Self.bytesMax)
            }
        }
    }

    private func copy(_ file: OldFile, as name: String, bytesMax: Int) async throws -> Fate {
        let stored = sends ? try await suite.checksum(of: name) : nil
        var nearest = try await found(file, bytesMax, isLocal: true)
        if nearest == nil {
            // A name with random digits stands for one content, which need not be fetched again.
            if let stored, !stored.isEmpty, file.isUnique {
                figures.unchanged += 1
                return .moved(name: name)
            }
            guard sends else {
                let isElsewhere = shelves.contains { !$0.isLocal && $0.mayHave(file) }
                return isElsewhere ? .moved(name: name) : .lacking(reason: lackingReason, name: nil)
            }
            nearest = try await found(file, bytesMax, isLocal: false)
        }
        let former = stored == nil ? nil : name
        guard let shelved = nearest else { return .lacking(reason: lackingReason, name: former) }
        guard !shelved.content.isEmpty else {
            return .lacking(reason: "it is empty, and Satchel takes no empty file", name: former)
        }
        let checksum = SHA256.hash(data: shelved.content).hex
        var target = name
        var present = stored
        if let stored, stored != checksum {
            target = file.storedName(checksum: checksum)
            present = try await suite.checksum(of: target)
        }
        guard present != checksum else {
            figures.unchanged += 1
            return .moved(name: target)
        }
        if sends { try await suite.store(shelved, as: target, checksum: checksum) }
        figures.copied += 1
        figures.bytes += shelved.content.count
        return .moved(name: target)
    }

    private var lackingReason: String {
        guard !shelves.isEmpty else { return "--files names no place with it" }
        return "\(shelves.map(\.name).joined(separator: " and ")) lacks it or does not show it"
    }

    private func found(_ file: OldFile, _ bytesMax: Int, isLocal: Bool) async throws -> ShelvedFile? {
        var problem: ShelfProblem?
        for shelf in shelves where shelf.isLocal == isLocal && shelf.mayHave(file) {
            do {
                if let found = try await shelf.open(file, bytesMax: bytesMax) { return found }
            } catch let error as ShelfProblem {
                problem = error
            }
        }
        // A link in the folder, say, while the address has the file.
        if let problem, !isLocal || !shelves.contains(where: { !$0.isLocal && $0.mayHave(file) }) { throw problem }
        return nil
    }
}

/// Places for copies that run at the same time.
actor CopyPlaces {
    private var free: Int
    private var waiting: [(wanted: Int, continuation: CheckedContinuation<Void, Never>)] = []

    init(_ count: Int) { free = count }

    /// Runs `body` when as many places are free. First come, first served.
    nonisolated func with<Result: Sendable>(
        _ count: Int, _ body: @Sendable () async throws -> Result
    ) async throws -> Result {
        await take(count)
        do {
            let result = try await body()
            await give(count)
            return result
        } catch {
            await give(count)
            throw error
        }
    }

    private func take(_ count: Int) async {
        guard !waiting.isEmpty || free < count else {
            free -= count
            return
        }
        await withCheckedContinuation { waiting.append((count, $0)) }
    }

    private func give(_ count: Int) {
        free += count
        while let first = waiting.first, first.wanted <= free {
            free -= first.wanted
            waiting.removeFirst().continuation.resume()
        }
    }
}
