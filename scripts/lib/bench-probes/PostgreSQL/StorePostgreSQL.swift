import ArgumentParser
import Foundation
import ObjectStore
import ParseProtocol
import Synchronization

/// The store on the same server and rows, without bus and gateway: measures its overhead over plain libpq.
struct StorePostgreSQL: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "store-postgresql",
        abstract: "Reads or creates objects through the store and prints how many in a second.")

    @OptionGroup var options: PostgreSQLOptions

    func run() async throws {
        let store = try await BenchedClass.store(options.connection)
        defer { store.stop() }
        let rate =
            switch options.work {
            case .read: try reads(store)
            case .create: try await creates(store)
            }
        print(Int(rate))
    }

    /// A signed-in user without roles, whose permission for each object is checked.
    private static let caller = Caller(userId: "benchUser1")

    /// One thread per concurrent read, each with its own reader and connection.
    private func reads(_ store: ClassStore) throws -> Double {
        let ids = try BenchedClass.place(options.connection).ids
        let readers = try (0..<options.connections).map { _ in Held(value: try store.makeReader()) }
        let (count, failures) = (Counter(), Counter())
        let start = ContinuousClock.now
        let end = start + .seconds(options.seconds)
        onThreads(readers.count) { index in
            let reader = readers[index].value
            var turn = index * 7919
            while ContinuousClock.now < end {
                turn += 1
                let id = ids[turn &* 2_654_435_761 % ids.count]
                let object = try? reader.read(BenchedClass.name, id, keys: [], excludeKeys: [], caller: Self.caller)
                (object == nil ? failures : count).add()
            }
        }
        return try rate(count, failures, since: start)
    }

    /// Submits a write whenever an earlier one was answered.
    private func creates(_ store: ClassStore) async throws -> Double {
        let (count, failures) = (Counter(), Counter())
        let start = ContinuousClock.now
        let end = start + .seconds(options.seconds)
        let group = DispatchGroup()
        @Sendable func submit() {
            store.submit(for: nil) { transaction in
                try transaction.create(BenchedClass.name, BenchedClass.object, caller: Self.caller).answer
            } completion: { (result: Result<JSON, any Error>) in
                if case .success = result { count.add() } else { failures.add() }
                if ContinuousClock.now < end { submit() } else { group.leave() }
            } changesAtOnce: {
                $0.changesAtOnce(BenchedClass.name, BenchedClass.object)
            }
        }
        for _ in 0..<options.connections {
            group.enter()
            submit()
        }
        await withCheckedContinuation { continuation in group.notify(queue: .global()) { continuation.resume() } }
        return try rate(count, failures, since: start)
    }

    private func rate(_ count: Counter, _ failures: Counter, since start: ContinuousClock.Instant) throws -> Double {
        guard failures.value == 0 else { throw ValidationError("\(failures.value) calls of the store failed.") }
        return Double(count.value) / ((ContinuousClock.now - start) / .seconds(1))
    }
}

/// A value that one thread at a time uses.
private struct Held<Value>: @unchecked Sendable { let value: Value }

private final class Counter: Sendable {
    private let number = Atomic<Int>(0)
    var value: Int { number.load(ordering: .relaxed) }
    func add() { number.wrappingAdd(1, ordering: .relaxed) }
}
