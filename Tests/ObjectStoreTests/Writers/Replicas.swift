import Foundation
import ObjectStore
import ParseProtocol
import Synchronization
import TestSupport

/// Several writing stores of one schema, like the replicas of a service.
final class Replicas: Sendable {
    let stores: [TestStore]

    /// Starts all at once.
    init(
        _ count: Int = 3, _ classes: [ClassDefinition] = [], allowCustomObjectId: Bool = false, schema: [String] = []
    ) async throws {
        var stores: [TestStore] = []
        for _ in 0..<count {
            stores.append(
                try await TestStore(
                    classes, path: stores.first?.path, allowCustomObjectId: allowCustomObjectId, schema: schema,
                    writers: .every, startsWriting: false))
        }
        // The first store removes the schema, so it is released last.
        self.stores = stores.reversed()
        await withTaskGroup(of: Void.self) { group in
            for store in stores { group.addTask { await store.mayWrite() } }
        }
    }

    subscript(index: Int) -> TestStore { stores[index] }

    /// Runs `body` in each store `times` times, all at once.
    /// - Returns: the results by store, including errors.
    func atOnce<T: Sendable>(
        times: Int, _ body: @escaping @Sendable (StoreTransaction, _ store: Int, _ time: Int) throws -> T
    ) async -> [Result<T, any Error>] {
        await withTaskGroup(of: Result<T, any Error>.self) { group in
            for (index, test) in stores.enumerated() {
                for time in 0..<times {
                    group.addTask {
                        do {
                            return .success(try await test.store.writePatiently { try body($0, index, time) })
                        } catch {
                            return .failure(error)
                        }
                    }
                }
            }
            return await group.reduce(into: []) { $0.append($1) }
        }
    }
}

extension [Result<Bool, any Error>] {
    /// The number of jobs that returned `wanted`.
    func count(of wanted: Bool) -> Int { count { (try? $0.get()) == wanted } }
}

extension Array {
    /// The failures as text.
    func failures<T>() -> [String] where Element == Result<T, any Error> {
        compactMap { if case .failure(let error) = $0 { "\(error)" } else { nil } }
    }
}

/// Waits until a condition holds.
/// - Parameter seconds: without the time in which the machine stood still.
/// - Returns: whether it held within the time.
func comesTrue(within seconds: Double, _ condition: () async throws -> Bool) async rethrows -> Bool {
    let meter = StallMeter()
    repeat {
        if try await condition() { return true }
        try? await Task.sleep(for: .milliseconds(10))
    } while meter.elapsed < .seconds(seconds)
    return try await condition()
}

extension ClassStore {
    /// Commits a job. It stored nothing if others overtook it until its time was over; then it runs again.
    func writePatiently<T: Sendable>(_ body: @escaping @Sendable (StoreTransaction) throws -> T) async throws -> T {
        for _ in 0..<4 {
            let begin = ContinuousClock.now
            do {
                return try await write(body)
            } catch let error as ParseError where error.code == .serviceUnavailable {
                guard ContinuousClock.now - begin >= JobBatch<Int>.timeMax else { throw error }
            }
        }
        return try await write(body)
    }

    /// Commits a job from a thread that may block.
    func writeAndWait<T: Sendable>(_ body: @escaping @Sendable (StoreTransaction) throws -> T) -> Result<T, any Error> {
        let done = DispatchSemaphore(value: 0)
        let box = Box<T>()
        submit(body) { result in
            box.result = result
            done.signal()
        }
        done.wait()
        return box.result ?? .failure(ParseError.internalError)
    }
}

private final class Box<T>: @unchecked Sendable {
    var result: Result<T, any Error>?
}

/// Numbers that several threads record.
final class Numbers: Sendable {
    private let numbers = Mutex<[Int]>([])
    var all: [Int] { numbers.withLock { $0 } }
    func add(_ number: Int) { numbers.withLock { $0.append(number) } }
}
