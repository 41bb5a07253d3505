import Foundation
import ObjectStore
import ParseProtocol
import Synchronization
import Testing

/// One replica changes a class while others change its objects: each combination of a schema change and a write.
@Suite(.severalWriters) struct SchemaChangeRaceTests {
    enum Change: String, CaseIterable {
        case dropClass, deleteField, addField, addRelation, deleteRelation, closeClass, addUniqueIndex, dropIndex

        /// - Parameter name: the class.
        func make(_ name: String, _ job: StoreTransaction) throws {
            switch self {
            case .dropClass: try job.dropClass(name)
            case .deleteField: try change(name, ["fields": ["n": ["__op": "Delete"]]], job)
            case .addField: try change(name, ["fields": ["extra": ["type": "String"]]], job)
            case .addRelation:
                try change(name, ["fields": ["more": ["type": "Relation", "targetClass": "Target"]]], job)
            case .deleteRelation: try change(name, ["fields": ["likes": ["__op": "Delete"]]], job)
            case .closeClass:
                let none: JSON = [:]
                try change(
                    name,
                    [
                        "classLevelPermissions": [
                            "find": none, "get": none, "count": none, "create": none, "update": none, "delete": none,
                            "addField": none,
                        ]
                    ], job)
            case .addUniqueIndex: try change(name, ["indexes": ["one": ["n": 1, "_unique": true]]], job)
            case .dropIndex: try change(name, ["indexes": ["byM": ["__op": "Delete"]]], job)
            }
        }

        private func change(_ name: String, _ wish: JSON, _ job: StoreTransaction) throws {
            _ = try job.changeClass(name, wish, keeping: [])
        }
    }

    enum Write: String, CaseIterable {
        /// Into a class without objects.
        case createFirst
        case create, createWithNewField, update, delete, addToRelation

        static let stored = "stored"

        func make(_ name: String, _ id: String, _ job: StoreTransaction) throws {
            let caller = Caller()
            switch self {
            case .createFirst, .create: _ = try job.create(name, ["n": 1, "m": 1], proposedId: id, caller: caller)
            case .createWithNewField: _ = try job.create(name, ["extra": 1], proposedId: id, caller: caller)
            case .update: _ = try job.update(name, Self.stored, ["n": 1], caller: caller)
            case .delete: try job.delete(name, Self.stored, caller: caller)
            case .addToRelation:
                let target: JSON = ["__type": "Pointer", "className": "Target", "objectId": .string(id)]
                let add: JSON = ["__op": "AddRelation", "objects": [target]]
                _ = try job.update(name, Self.stored, ["likes": add], caller: caller)
            }
        }

        var creates: Bool { [.createFirst, .create, .createWithNewField].contains(self) }
    }

    /// The outcome of each combination equals that of some order of the two. Every replica sees the same, and neither
    /// readers nor writers get an internal error.
    @Test(arguments: [2, 3]) func everyPairIsDoneOneAfterTheOther(writers: Int) async throws {
        let replicas = try await Replicas(writers)
        for change in Change.allCases {
            for write in Write.allCases {
                let race = Race(replicas: replicas, change: change, write: write)
                try await race.prepare()
                let outcomes = await race.run()
                try await race.check(outcomes)
            }
        }
    }

    /// Transactions that change classes never overlap across replicas.
    @Test func noOtherReplicaWritesWhileAClassChanges() async throws {
        let replicas = try await Replicas(3)
        try await replicas[0].create("T", ["n": 0])
        let writing = Atomic(0)
        let met = Atomic(0)
        let outcomes = await replicas.atOnce(times: 10) { job, store, time in
            // The server's answer shows that the transaction holds its lock.
            _ = try job.rows("SELECT 1", [])
            guard store == 0 else {
                writing.add(1, ordering: .sequentiallyConsistent)
                defer { writing.subtract(1, ordering: .sequentiallyConsistent) }
                _ = try job.create("T", ["n": 1], caller: .master)
                return Thread.sleep(forTimeInterval: 0.002)
            }
            _ = try job.createClass("New\(time)", [:])
            for _ in 0..<3 {
                if writing.load(ordering: .sequentiallyConsistent) > 0 { met.add(1, ordering: .relaxed) }
                Thread.sleep(forTimeInterval: 0.002)
            }
        }
        #expect(outcomes.failures() == [])
        #expect(met.load(ordering: .relaxed) == 0)
    }

    /// In PostgreSQL, a drop also removes tables from older snapshots: a read that began before the drop finds none.
    @Test func aReadGoesOnWhenItsClassIsDroppedMeanwhile() async throws {
        let replicas = try await Replicas(2)
        let other = replicas[1].store
        for className in ["Counted", "Got"] {
            _ = try await other.write { try $0.createClass(className, [:]) }
            let isDropped = Atomic(false)
            let answer = await code {
                try await replicas[0].store.read { reader in
                    try reader.onOneSnapshot {
                        _ = try reader.rows("SELECT 1", [])
                        if !isDropped.exchange(true, ordering: .relaxed) {
                            try other.writeAndWait { try $0.dropClass(className) }.get()
                        }
                        guard className == "Counted" else {
                            _ = try reader.get(className, "x", keys: [], excludeKeys: [], caller: .master)
                            return
                        }
                        #expect(try reader.count(Query(className: className), caller: .master) == 0)
                    }
                }
            }
            #expect(answer == (className == "Counted" ? nil : 101))
        }
    }
}

/// A schema change by the first replica and the same write by each of the others, in a new class.
private struct Race {
    typealias Change = SchemaChangeRaceTests.Change
    typealias Write = SchemaChangeRaceTests.Write

    let replicas: Replicas
    let change: Change
    let write: Write

    var name: String { "\(change)_\(write)" }
    private var stores: [ClassStore] { replicas.stores.map(\.store) }
    private func id(_ store: Int) -> String { "writer\(store)" }

    func prepare() async throws {
        let name = name
        let isEmpty = write == .createFirst
        try await stores[0].write { job in
            _ = try job.createClass(
                name,
                [
                    "fields": [
                        "n": ["type": "Number"], "m": ["type": "Number"],
                        "likes": ["type": "Relation", "targetClass": "Target"],
                    ], "indexes": ["byM": ["m": 1]],
                ])
            if !isEmpty { _ = try job.create(name, ["n": 0, "m": 0], objectId: Write.stored, caller: .master) }
        }
    }

    /// - Returns: the outcome of each replica's job, in their order.
    func run() async -> [Result<Void, any Error>] {
        let (name, change, write) = (name, change, write)
        return await withTaskGroup(of: (Int, Result<Void, any Error>).self) { group in
            for (index, store) in stores.enumerated() {
                group.addTask {
                    do {
                        try await store.writePatiently { job in
                            try index == 0 ? change.make(name, job) : write.make(name, id(index), job)
                        }
                        return (index, .success(()))
                    } catch {
                        return (index, .failure(error))
                    }
                }
                group.addTask {
                    for _ in 0..<3 { await read(store) }
                    return (-1, .success(()))
                }
            }
            var outcomes: [Int: Result<Void, any Error>] = [:]
            for await (index, outcome) in group where index >= 0 { outcomes[index] = outcome }
            return stores.indices.compactMap { outcomes[$0] }
        }
    }

    private func read(_ store: ClassStore) async {
        let name = name
        let failures: [Int?] = [
            await code { _ = try await store.read { try $0.count(Query(className: name), caller: .master) } },
            await code {
                _ = try await store.read {
                    try $0.get(name, Write.stored, keys: [], excludeKeys: [], caller: .master)
                }
            },
        ]
        #expect(failures[0] == nil, "\(name): count")
        #expect([nil, 101].contains(failures[1]), "\(name): get")
    }

    func check(_ outcomes: [Result<Void, any Error>]) async throws {
        // 101: the class or object is gone. 111: of another type. 119: not permitted. 137: not unique. 255: not empty.
        for case .failure(let error) in outcomes {
            let code = (error as? ParseError)?.code.rawValue
            #expect([101, 111, 119, 137, 255].contains(code), "\(name): \(error)")
        }
        let states = try await replicas.stores.asyncMap { try await State(of: name, in: $0) }
        for state in states { #expect(state == states[0], "\(name): replicas differ") }
        states[0].check()
        let isDone = outcomes.map { (try? $0.get()) != nil }
        for store in 1..<outcomes.count where isDone[store] {
            checkKept(by: id(store), states[0])
        }
        guard change == .closeClass, isDone[0] else { return }
        for replica in replicas.stores {
            let answer = await code { try await replica.create(name, ["n": 9], as: Caller()) }
            #expect(answer == 119, "\(name): written after the class was closed")
        }
    }

    /// Acknowledged writes are stored, except for data that the schema change removed.
    private func checkKept(by id: String, _ state: State) {
        if write.creates { #expect(state.objects[id] != nil, "\(name): the object \(id) is lost") }
        if write == .delete { #expect(state.objects[Write.stored] == nil, "\(name): the object is there again") }
        if write == .update, let n = state.objects[Write.stored]?["n"] {
            #expect(n == 1, "\(name): the update is lost")
        }
        if write == .addToRelation, state.fields["likes"] != nil, change != .deleteRelation {
            #expect(state.related.contains("likes \(Write.stored) \(id)"), "\(name): the relation to \(id) is lost")
        }
    }
}

/// A class as a replica sees it.
private struct State: Equatable {
    let name: String
    var fields: [String: JSON] = [:]
    var hasUniqueIndex = false
    var objects: [String: JSON] = [:]
    /// Field, owner and target of each row of a relation.
    var related: Set<String> = []

    init(of name: String, in test: TestStore) async throws {
        self.name = name
        let (schema, objects, related) = try await test.store.read { reader in
            try reader.onOneSnapshot {
                let schema = try? JSON(parsing: reader.schema(of: name))
                let objects = try reader.documents(Query(className: name, limit: 100), caller: .master)
                let related = try reader.rows(
                    """
                    SELECT key || ' ' || owner || ' ' || target AS line FROM relations
                    WHERE class NOT IN (SELECT id FROM classes) OR class IN (SELECT id FROM classes WHERE name = ?)
                    """, [.text(name)])
                return (schema, objects, try related.map { try $0.text("line") })
            }
        }
        fields = schema?["fields"]?.objectValue ?? [:]
        hasUniqueIndex = schema?["indexes"]?["one"] != nil
        for object in objects { self.objects[object["objectId"]?.stringValue ?? ""] = object }
        self.related = Set(related)
    }

    /// Objects have only fields of the class, relation rows have an owner, and a unique index has each value once.
    func check() {
        for (id, object) in objects {
            for (field, value) in object.objectValue ?? [:] {
                guard let type = fields[field]?["type"]?.stringValue else {
                    #expect(["objectId", "createdAt", "updatedAt"].contains(field), "\(name): \(id) has \(field)")
                    continue
                }
                #expect((type == "Number") == (value.intValue != nil), "\(name): \(field) of \(id) is no \(type)")
            }
            for (field, type) in fields where type["type"] == "Relation" {
                #expect(object[field] != nil, "\(name): \(id) does not show \(field)")
            }
        }
        for line in related {
            let parts = line.split(separator: " ").map(String.init)
            let hasOwner = fields[parts[0]] != nil && objects[parts[1]] != nil
            #expect(hasOwner, "\(name): a row of a relation is left: \(line)")
        }
        if hasUniqueIndex {
            let values = objects.values.compactMap { $0["n"]?.intValue }
            #expect(Set(values).count == values.count, "\(name): \(values)")
        }
    }
}

extension Array {
    fileprivate func asyncMap<T>(_ body: (Element) async throws -> T) async rethrows -> [T] {
        var result: [T] = []
        for element in self { result.append(try await body(element)) }
        return result
    }
}
