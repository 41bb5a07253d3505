import Glibc
import Synchronization

/// Counters by which the writer of a database announces its changes to processes on its host: a small file next to the
/// database that all of them map into memory.
///
/// Before a commit the writer makes the counters of all changed subjects odd, and afterwards even. Each change leaves a
/// counter at a value that it never had before. A reader therefore checks that a counter is even, reads, and later
/// compares the counter: if it is unchanged, no commit changed the subject in between, so the result is still current.
/// This costs the writer no message and no wait, and the reader two loads. It works for every write (by a client, a
/// job, an import) and however a writer ends: counters that it left odd stay odd until the next writer starts.
///
/// Counters are found by a hash. If two names share one, a reader may read again unnecessarily, but never misses a
/// change.
package final class ChangeBoard: @unchecked Sendable {
    /// The reason why a board cannot be used.
    package struct Unusable: Error, CustomStringConvertible {
        /// The file and the problem.
        package let description: String
    }

    /// The positions of the first counters; the others follow them.
    private enum Place {
        static let form = 0
        static let identity = 1
        static let everything = 2
        /// Pages belong to few classes and have separate counters, so that no busy object shares one with them.
        static let pages = 8..<1032
        static let objects = 1032..<8192
    }

    private static let bytes = Place.objects.upperBound * MemoryLayout<UInt64>.size
    /// `SATCHEL` and the version of this file format.
    private static let form: UInt64 = 0x53_4154_4348_454C_01

    private let memory: UnsafeMutableRawPointer
    private let words: UnsafeMutablePointer<Atomic<UInt64>>
    /// The writer of the board is no longer known.
    private let isForsaken = Atomic<Bool>(false)
    /// Identifies the board and its writer: random, never 0, different for each writer. A copy of the file, for example
    /// in a folder copied while the shop ran, is thus not mistaken for the board of the copied database's writer.
    package var identity: UInt64 { words[Place.identity].load(ordering: .acquiring) }

    private init(_ memory: UnsafeMutableRawPointer) {
        self.memory = memory
        words = memory.bindMemory(to: Atomic<UInt64>.self, capacity: Place.objects.upperBound)
    }

    deinit { munmap(memory, Self.bytes) }

    /// The path of a database's board.
    package static func path(beside database: String) -> String {
        (database.hasSuffix(".sqlite") ? String(database.dropLast(".sqlite".count)) : database) + ".changes"
    }

    // MARK: Opening

    /// The board for a reader; nil when there is none with this identity at the path.
    package static func find(_ path: String, identity: UInt64) -> ChangeBoard? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        guard size(of: file) == bytes, let memory = map(file, PROT_READ) else { return nil }
        let board = ChangeBoard(memory)
        guard board.words[Place.form].load(ordering: .acquiring) == form, board.identity == identity else { return nil }
        return board
    }

    /// The board for the writer of the database; created if it is missing. Everything on it counts as changing until
    /// `settle`.
    /// - Throws: `Unusable` when it can neither be opened nor created.
    package static func keep(_ path: String) throws(Unusable) -> ChangeBoard {
        let file = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard file >= 0 else { throw Unusable(path, "cannot be opened") }
        defer { close(file) }
        guard makeWhole(file), let memory = map(file, PROT_READ | PROT_WRITE) else {
            throw Unusable(path, "cannot be made")
        }
        let board = ChangeBoard(memory)
        board.unsettle()
        board.words[Place.identity].store(.random(in: 1 ... .max), ordering: .releasing)
        board.words[Place.form].store(form, ordering: .releasing)
        return board
    }

    /// Allocates all blocks of the file: if the disk fills up later, access to the mapping must not kill the process. A
    /// copied board may have holes. A file of another size is not mapped by any process.
    private static func makeWhole(_ file: Int32) -> Bool {
        let isBoard = size(of: file) == bytes
        guard isBoard || ftruncate(file, 0) == 0 else { return false }
        let problem = posix_fallocate(file, 0, off_t(bytes))
        errno = problem
        // If there is no space for the holes, an existing board is still better than a shop that cannot write.
        return problem == 0 || isBoard
    }

    /// Whether there is a board that a process may have mapped.
    package static func isThere(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && Int(status.st_size) == bytes
    }

    /// Invalidates a board that no writer keeps any more. Does nothing if there is none.
    /// - Throws: `Unusable` when a board exists and cannot be opened.
    package static func retire(_ path: String) throws(Unusable) {
        if isThere(path) { _ = try keep(path) }
    }

    /// A board without a file, for a process that is both writer and reader.
    /// - Throws: `Unusable` when there is no memory.
    package static func inMemory() throws(Unusable) -> ChangeBoard {
        guard let memory = map(-1, PROT_READ | PROT_WRITE) else { throw Unusable("memory", "is short") }
        let board = ChangeBoard(memory)
        board.words[Place.identity].store(1, ordering: .releasing)
        return board
    }

    private static func size(of file: Int32) -> Int {
        var status = stat()
        return fstat(file, &status) == 0 ? Int(status.st_size) : -1
    }

    private static func map(_ file: Int32, _ rights: Int32) -> UnsafeMutableRawPointer? {
        let memory = mmap(nil, bytes, rights, file < 0 ? MAP_SHARED | MAP_ANONYMOUS : MAP_SHARED, file, 0)
        return memory == MAP_FAILED ? nil : memory
    }

    // MARK: Reading

    /// The current counters of a subject; nil while it is being changed. Call it before the read begins.
    package func stamp(of subject: ChangeSubject) -> ChangeStamp? {
        let place = Self.place(of: subject)
        let stamp = ChangeStamp(
            board: self, place: place, everything: words[Place.everything].load(ordering: .acquiring),
            own: words[place].load(ordering: .acquiring))
        return (stamp.everything | stamp.own) & 1 == 0 ? stamp : nil
    }

    fileprivate func isCurrent(_ stamp: ChangeStamp) -> Bool {
        words[Place.everything].load(ordering: .acquiring) == stamp.everything
            && words[stamp.place].load(ordering: .acquiring) == stamp.own
            && !isForsaken.load(ordering: .acquiring)
    }

    /// Invalidates the stamps of this board, because its writer is no longer known.
    package func invalidateStamps() { isForsaken.store(true, ordering: .releasing) }

    private static func place(of subject: ChangeSubject) -> Int {
        switch subject {
        case .classes: Place.everything
        case .page(let className): place(in: Place.pages, hash(className, ""))
        case .object(let className, let objectId): place(in: Place.objects, hash(className, objectId))
        }
    }

    private static func place(in range: Range<Int>, _ hash: UInt64) -> Int {
        range.lowerBound + Int(hash.multipliedFullWidth(by: UInt64(range.count)).high)
    }

    private static func hash(_ first: String, _ second: String) -> UInt64 {
        var hash = FNV1a()
        hash.add(first.utf8, second.utf8)
        return hash.mixed
    }

    // MARK: Writing, by the writer of the database

    /// Announces that a set is about to change. Call it before the commit.
    package func begin(_ changes: ChangeSet) {
        forEachPlace(of: changes, makeOdd)
        // Orders the commit after the counters for every processor.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
    }

    /// Announces that a set was changed, or that the change failed. Call it when the commit is visible to all readers
    /// or to none, and before its jobs are completed.
    package func end(_ changes: ChangeSet) {
        forEachPlace(of: changes, makeEven)
    }

    /// Announces that everything may change from now on: while a writer starts, and after it has ended.
    package func unsettle() {
        makeOdd(Place.everything)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
    }

    /// Announces that the current data is stable until further notice. Also ends the changes that a dead writer left
    /// open.
    package func settle() {
        for place in Place.pages.lowerBound..<Place.objects.upperBound
        where words[place].load(ordering: .relaxed) & 1 == 1 { makeEven(place) }
        makeEven(Place.everything)
    }

    /// Subjects that share a counter may visit it repeatedly: an odd counter stays odd, and an even one becomes another
    /// even one.
    private func forEachPlace(of changes: ChangeSet, _ change: (Int) -> Void) {
        if changes.isEverything { return change(Place.everything) }
        for subject in changes.subjects { change(Self.place(of: subject)) }
    }

    private func makeOdd(_ place: Int) {
        words[place].store(words[place].load(ordering: .relaxed) | 1, ordering: .releasing)
    }

    /// Always a new value, even if the counter was not odd.
    private func makeEven(_ place: Int) {
        words[place].store((words[place].load(ordering: .relaxed) | 1) &+ 1, ordering: .releasing)
    }
}

extension ChangeBoard.Unusable {
    /// The path, the problem and the error of the last system call.
    fileprivate init(_ path: String, _ what: String) {
        self.init(description: "\(path) \(what): \(String(cString: strerror(errno))).")
    }
}

/// The counters of a subject at one moment.
package struct ChangeStamp: Sendable {
    fileprivate let board: ChangeBoard
    fileprivate let place: Int
    fileprivate let everything: UInt64
    fileprivate let own: UInt64

    /// Whether nothing of the subject has changed since, and nothing is being changed.
    package var isCurrent: Bool { board.isCurrent(self) }
}
