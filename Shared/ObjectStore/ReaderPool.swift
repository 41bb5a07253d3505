import Foundation
import ParseProtocol

/// A few threads with a reader each, for code that waits with `await`. The threads start at the first read.
final class ReaderPool: @unchecked Sendable {
    typealias Work = (Result<StoreReader, any Error>) -> Void

    /// Waiting reads; past it the caller is told to come back later.
    static let queueMax = 4096

    private let open: @Sendable () throws -> StoreReader
    private let threadCount: Int
    private let condition = NSCondition()
    private var work: [Work] = []
    private var running = 0
    private var isStarted = false
    private var isStopping = false

    init(threads: Int, open: @escaping @Sendable () throws -> StoreReader) {
        threadCount = threads
        self.open = open
    }

    func submit(_ item: @escaping Work) {
        let isTaken = condition.withLock {
            guard !isStopping, work.count < ReaderPool.queueMax else { return false }
            startThreads()
            work.append(item)
            condition.signal()
            return true
        }
        if !isTaken { item(.failure(ParseError(.serviceUnavailable, "Too many reads are waiting. Try again later."))) }
    }

    /// Finishes what was taken.
    func stop() {
        condition.withLock {
            isStopping = true
            condition.broadcast()
            while running > 0 { condition.wait() }
        }
    }

    private func startThreads() {
        guard !isStarted else { return }
        isStarted = true
        running = threadCount
        for index in 0..<threadCount {
            let thread = Thread { [self] in run() }
            thread.name = "store-reader-\(index)"
            thread.stackSize = 8 << 20
            thread.start()
        }
    }

    private func run() {
        var reader: StoreReader?
        while let item = next() {
            item(Result {
                if let reader { return reader }
                let opened = try open()
                reader = opened
                return opened
            })
        }
        reader = nil
        condition.withLock {
            running -= 1
            condition.broadcast()
        }
    }

    private func next() -> Work? {
        condition.withLock {
            while work.isEmpty, !isStopping { condition.wait() }
            return work.isEmpty ? nil : work.removeFirst()
        }
    }
}
