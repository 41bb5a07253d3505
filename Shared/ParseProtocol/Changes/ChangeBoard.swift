import Glibc
import Synchronization

/// The counters by which the writer of a database tells processes on its host what it is about to change: a small file
/// beside the database, which all of them have in their memory.
///
/// Before a commit the writer makes the counters of all that the commit changes odd, and after it even: each change
/// leaves a counter at a number that it never had. So whoever finds a counter even, then reads, and later finds the
/// same number there, knows that nothing of the kind was committed in between: what was read is what a read would bring
/// at this moment. It costs the writer no message and no wait, the reader two loads, and it holds whoever wrote (a
/// client, a job, an import) and however a writer ends: what it left odd stays odd until the next one has begun.
///
/// Counters are found by a hash. That two names share one makes a reader look again once too often, never too seldom.
package final class ChangeBoard: @unchecked Sendable {
    /// A reason why there is no board.
    package struct Unusable: Error, CustomStringConvertible {
        /// The file and what is wrong with it.
        package let description: String
    }

    /// The places of the first counters; the others follow them.
    private enum Place {
        static let form = 0
        static let identity = 1
        static let everything = 2
        /// Pages are of few classes and have counters of their own, so that no busy object is among them.
        static let pages = 8..<1032
        static let objects = 1032..<8192
    }

    private static let bytes = Place.objects.upperBound * MemoryLayout<UInt64>.size
    /// `SATCHEL` and the version of this form.
    private static let form: UInt64 = 0x53_4154_4348_454C_01

    private let memory: UnsafeMutableRawPointer
    private let words: UnsafeMutablePointer<Atomic<UInt64>>
    /// Nobody is known any more who keeps the board.
    private let isForsaken = Atomic<Bool>(false)
    /// Which board this is, and who keeps it: random, never 0, another one with each writer. A copy of the file, such
    /// as of a folder that was copied while the shop ran, is not taken for the one that the writer of its copied
    /// database has.
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

    /// The board for who reads; nil when there is none of this identity at the path.
    package static func find(_ path: String, identity: UInt64) -> ChangeBoard? {
        let file = open(path, O_RDONLY | O_CLOEXEC)
        guard file >= 0 else { return nil }
        defer { close(file) }
        guard size(of: file) == bytes, let memory = map(file, PROT_READ) else { return nil }
        let board = ChangeBoard(memory)
        guard board.words[Place.form].load(ordering: .acquiring) == form, board.identity == identity else { return nil }
        return board
    }

    /// The board for who writes the database; made when there is none. Everything on it is being changed until
    /// `settle`.
    /// - Throws: `Unusable` when it can be neither opened nor made.
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

    /// Gives the file all of its blocks: a disk that is full later must not end the process that looks at them. A copy
    /// of a board has holes. One of another size nobody has in memory.
    private static func makeWhole(_ file: Int32) -> Bool {
        let isBoard = size(of: file) == bytes
        guard isBoard || ftruncate(file, 0) == 0 else { return false }
        let problem = posix_fallocate(file, 0, off_t(bytes))
        errno = problem
        // Where there is no room for holes, a board is still better than a shop that cannot be written.
        return problem == 0 || isBoard
    }

    /// Whether there is a board that somebody may have in memory.
    package static func isThere(_ path: String) -> Bool {
        var status = stat()
        return stat(path, &status) == 0 && Int(status.st_size) == bytes
    }

    /// Makes sure that nobody believes a board that is kept no longer. Does nothing where there is none.
    /// - Throws: `Unusable` when there is one that cannot be opened.
    package static func retire(_ path: String) throws(Unusable) {
        if isThere(path) { _ = try keep(path) }
    }

    /// A board without a file, for a process that is writer and reader in one.
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

    /// The counters of a subject as they are now; nil while it is being changed. To be asked before the read begins.
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

    /// Ends what stamps of this board say: nobody is known any more who keeps it.
    package func forsake() { isForsaken.store(true, ordering: .releasing) }

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

    // MARK: Writing, by the one who may

    /// Says that a set is about to be changed. To be called before the commit.
    package func begin(_ changes: ChangeSet) {
        forEachPlace(of: changes, makeOdd)
        // The commit comes after it for every processor.
        atomicMemoryFence(ordering: .sequentiallyConsistent)
    }

    /// Says that a set was changed, or that nothing came of it. To be called when the commit has been seen by nobody or
    /// by everybody, and before anybody is told of it.
    package func end(_ changes: ChangeSet) {
        forEachPlace(of: changes, makeEven)
    }

    /// Says that everything may change from now on: while a writer begins, and when it has ended.
    package func unsettle() {
        makeOdd(Place.everything)
        atomicMemoryFence(ordering: .sequentiallyConsistent)
    }

    /// Says that what is there now stays until it is said otherwise. What a writer that died left undone is done.
    package func settle() {
        for place in Place.pages.lowerBound..<Place.objects.upperBound
        where words[place].load(ordering: .relaxed) & 1 == 1 { makeEven(place) }
        makeEven(Place.everything)
    }

    /// A place that several subjects share comes as often: an odd counter stays odd, an even one is another even one.
    private func forEachPlace(of changes: ChangeSet, _ change: (Int) -> Void) {
        if changes.isEverything { return change(Place.everything) }
        for subject in changes.subjects { change(Self.place(of: subject)) }
    }

    private func makeOdd(_ place: Int) {
        words[place].store(words[place].load(ordering: .relaxed) | 1, ordering: .releasing)
    }

    /// Never a number that was there before, also when nobody made it odd.
    private func makeEven(_ place: Int) {
        words[place].store((words[place].load(ordering: .relaxed) | 1) &+ 1, ordering: .releasing)
    }
}

extension ChangeBoard.Unusable {
    /// The path with the error of the last call.
    fileprivate init(_ path: String, _ what: String) {
        self.init(description: "\(path) \(what): \(String(cString: strerror(errno))).")
    }
}

/// The state of a subject at one moment, by its counters.
package struct ChangeStamp: Sendable {
    fileprivate let board: ChangeBoard
    fileprivate let place: Int
    fileprivate let everything: UInt64
    fileprivate let own: UInt64

    /// Whether nothing of the subject was changed since, and nothing of it is being changed.
    package var isCurrent: Bool { board.isCurrent(self) }
}
