import GatewayService
import ParseProtocol
import TestSupport
import Testing

/// The history checker detects faults, and the cache with its board is correct in any order of steps.
@Suite struct ReadHistoryTests {
    private static func write(_ version: Int64, _ begin: Int64, _ end: Int64?) -> ReadHistory.Operation {
        .init("x", version: version, isWrite: true, begin: begin, end: end)
    }

    private static func read(_ version: Int64, _ begin: Int64, _ end: Int64) -> ReadHistory.Operation {
        .init("x", version: version, isWrite: false, begin: begin, end: end)
    }

    @Test func whatOneOrderExplainsIsFine() {
        let histories: [[ReadHistory.Operation]] = [
            [], [Self.read(0, 1, 2)], [Self.write(1, 1, 4), Self.read(1, 5, 6)],
            // During the write both values are correct, for overlapping reads in either order.
            [Self.write(1, 1, 9), Self.read(0, 2, 3), Self.read(1, 4, 5), Self.read(1, 6, 7)],
            [Self.write(1, 1, 9), Self.read(1, 2, 8), Self.read(0, 3, 7)],
            // An unacknowledged write may have been carried out or not.
            [Self.write(1, 1, nil), Self.read(1, 5, 6)], [Self.write(1, 1, nil), Self.read(0, 5, 6)],
        ]
        for history in histories { #expect(ReadHistory(history).violations.isEmpty, "\(history)") }
    }

    @Test func whatNoOrderExplainsIsFound() {
        let histories: [[ReadHistory.Operation]] = [
            // Older than an acknowledged version.
            [Self.write(1, 1, 4), Self.read(0, 5, 6)],
            [Self.write(1, 1, 2), Self.write(2, 3, 4), Self.read(2, 5, 6), Self.read(1, 7, 8)],
            // Older than a version that was read, although the write was not acknowledged.
            [Self.write(1, 1, 20), Self.read(1, 2, 3), Self.read(0, 4, 5)],
            [Self.write(1, 1, nil), Self.read(1, 2, 3), Self.read(0, 4, 5)],
            // A version that was never written.
            [Self.read(1, 1, 2), Self.write(1, 3, 4)], [Self.read(7, 1, 2)],
        ]
        for history in histories { #expect(!ReadHistory(history).violations.isEmpty, "\(history)") }
    }

    @Test(arguments: 1...20 as ClosedRange<UInt64>) func theCacheKeepsTheOrderInAnyOrderOfSteps(seed: UInt64) throws {
        let simulation = try Simulation(seed: seed, fault: nil)
        simulation.run(steps: 4000)
        #expect(simulation.history.violations.isEmpty, "\(simulation.history.violations)")
        #expect(simulation.cache.counts.hits > 100)
    }

    /// Each rule is needed: without it, the checker finds a stale read.
    @Test(arguments: Simulation.Fault.allCases) func aRuleThatIsSkippedIsFound(fault: Simulation.Fault) throws {
        let found = try (1...20 as ClosedRange<UInt64>).contains { seed in
            let simulation = try Simulation(seed: seed, fault: fault)
            simulation.run(steps: 20_000)
            return !simulation.history.violations.isEmpty
        }
        #expect(found)
    }
}

/// One writer, some readers, a board and a cache, whose steps come in a random order determined by the seed. A killed
/// writer leaves its state unchanged, and another writer starts.
final class Simulation {
    enum Fault: CaseIterable {
        /// The writer commits some changes without announcing them.
        case someChangesAreNotTold
        /// The writer announces its changes only after the commit.
        case changesAreToldTooLate
        /// The reader takes the stamp after the answer arrived.
        case stampsAreTakenTooLate
    }

    private enum Writer { case idle, telling, committing, ending, acknowledging, dead }
    private enum Reader {
        case idle
        case looking(begin: Int64)
        case asking(begin: Int64, ChangeStamp?)
        case answered(begin: Int64, ChangeStamp?, Int64)
        case ending(begin: Int64, Int64)
    }

    private static let subject = ChangeSubject.object(ofClass: "Product", id: "x")
    private static let key = CachedReads<Int64, ChangeStamp>.Key(
        isMaster: false, className: "Product", objectId: "x", options: [])

    private(set) var history = ReadHistory()
    private(set) var cache = CachedReads<Int64, ChangeStamp>(bytesMax: 1 << 20, entryBytesMax: 1 << 16)
    private let board: ChangeBoard
    private let fault: Fault?
    private var random: Seeded
    private var now: Int64 = 0
    private var stored: Int64 = 0
    private var writing: (version: Int64, begin: Int64, isTold: Bool) = (0, 0, true)
    private var writer = Writer.idle
    private var readers = [Reader](repeating: .idle, count: 4)
    private var changes = ChangeSet()

    init(seed: UInt64, fault: Fault?) throws {
        self.fault = fault
        random = Seeded(seed)
        board = try ChangeBoard.inMemory()
        changes.note("Product", "x")
    }

    func run(steps: Int) {
        for _ in 0..<steps {
            now += 1
            let actor = Int.random(in: 0..<readers.count + 1, using: &random)
            if actor == readers.count { stepOfWriter() } else { readers[actor] = step(of: readers[actor]) }
        }
        // An unacknowledged write may have been carried out.
        if writer != .idle { record(writing.version, isWrite: true, begin: writing.begin, end: nil) }
    }

    private func stepOfWriter() {
        if writer != .idle, writer != .dead, Int.random(in: 0..<40, using: &random) == 0 {
            writer = .dead
            return
        }
        switch writer {
        case .idle:
            guard Int.random(in: 0..<6, using: &random) == 0 else { return }
            writing = (stored + 1, now, fault != .someChangesAreNotTold || Bool.random(using: &random))
            writer = .telling
        case .telling:
            if writing.isTold, fault != .changesAreToldTooLate { board.begin(changes) }
            writer = .committing
        case .committing:
            stored = writing.version
            writer = .ending
        case .ending:
            if fault == .changesAreToldTooLate { board.begin(changes) }
            if writing.isTold { board.end(changes) }
            writer = .acknowledging
        case .acknowledging:
            record(writing.version, isWrite: true, begin: writing.begin, end: now)
            writer = .idle
        case .dead:
            board.unsettle()
            board.settle()
            // Its client retries: the write either exists or is made now.
            guard stored == writing.version else {
                writer = .telling
                return
            }
            writer = .acknowledging
        }
    }

    private func step(of reader: Reader) -> Reader {
        switch reader {
        case .idle: return .looking(begin: now)
        case .looking(let begin):
            let kept = cache.find(Self.key, isSignedIn: false, now: 0) { $0.isCurrent }
            if let kept { return .ending(begin: begin, kept) }
            return .asking(begin: begin, board.stamp(of: Self.subject))
        case .asking(let begin, let stamp): return .answered(begin: begin, stamp, stored)
        case .answered(let begin, var stamp, let version):
            if fault == .stampsAreTakenTooLate { stamp = board.stamp(of: Self.subject) }
            if let stamp, stamp.isCurrent {
                cache.keep(version, for: Self.key, bytes: 8, stamp: stamp, isForEverybody: true, now: 0)
            }
            return .ending(begin: begin, version)
        case .ending(let begin, let version):
            record(version, isWrite: false, begin: begin, end: now)
            return .idle
        }
    }

    private func record(_ version: Int64, isWrite: Bool, begin: Int64, end: Int64?) {
        history.operations.append(.init("x", version: version, isWrite: isWrite, begin: begin, end: end))
    }
}
