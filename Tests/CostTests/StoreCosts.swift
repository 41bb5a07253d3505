import Foundation
import Logging
import ObjectStore
import ParseProtocol
import ServiceSupport
import Testing

/// The costs of changes and queries of a store with a small class.
final class StoreCosts: Sendable {
    private struct Undo: Error {}

    private let store: ClassStore
    private let folder: URL

    init() async throws {
        folder = FileManager.default.temporaryDirectory.appending(path: "costs-\(Names.random(12))")
        store = try ClassStore(
            testDatabase("costs", in: folder), classes: [], synchronous: .normal, allowClassCreation: true,
            allowCustomObjectId: true, logger: Logger(label: "costs") { _ in SwiftLogNoOpLogHandler() })
        await withCheckedContinuation { continuation in store.startWriting { continuation.resume() } }
        _ = try await store.write { job in
            try job.create("Thing", ["o": ["x": 1], "a": [1], "t": "text"], objectId: "one", caller: .master)
        }
    }

    deinit {
        store.stop()
        try? FileManager.default.removeItem(at: folder)
    }

    func check() async throws {
        do {
            try await store.write { job in
                for cost in Self.rows(job) {
                    let growth = try cost.measured()
                    #expect(growth.isLinear, "\(cost.name): \(growth)")
                }
                throw Undo()
            }
        } catch is Undo {}
    }

    private static func rows(_ job: StoreTransaction) -> [Cost] {
        nonisolated(unsafe) let job = job
        @Sendable func create(_ object: JSON) throws {
            do {
                try job.nested {
                    _ = try job.create("Thing", object, caller: .master)
                    throw Undo()
                }
            } catch is Undo {}
        }
        @Sendable func update(_ changes: JSON) throws {
            do {
                try job.nested {
                    _ = try job.update("Thing", "one", changes, caller: .master)
                    throw Undo()
                }
            } catch is Undo {}
        }
        return [
            Cost("an object of many members", 400) { n in
                let object: JSON = ["o": try JSON(parsing: Text.object(n) { "\"k\($0)\":\"v\"" })]
                return { try create(object) }
            },
            Cost("changes of members by dotted names", 800) { n in
                let changes = try JSON(parsing: Text.object(n) { "\"o.k\($0)\":1" })
                return { try update(changes) }
            },
            Cost("changes of elements by their index", 250) { n in
                let changes = try JSON(parsing: Text.object(n) { "\"a.\($0)\":1" })
                return { try update(changes) }
            },
            Cost("an ACL", 200, largest: 4) { n in
                let object: JSON = ["ACL": try JSON(parsing: Text.object(n) { "\"user\($0)\":{\"read\":true}" })]
                return { try create(object) }
            },
            // Up to the limit. Below 4,000 values, SQLite's temporary index is measurably cheaper, which would distort
            // the ratio.
            Cost("a list of a condition", 2_500, largest: 4) { n in
                let list = try JSON(parsing: Text.list(n) { "\"v\($0)\"" })
                let query = Query(className: "Thing", where: ["t": ["$in": list]])
                return { _ = try job.find(query, caller: .master) }
            },
            Cost("a list of keys", 250) { n in
                let query = Query(className: "Thing", keys: (0..<n).map { "o.f\($0)" })
                return { _ = try job.find(query, caller: .master) }
            },
        ]
    }
}
