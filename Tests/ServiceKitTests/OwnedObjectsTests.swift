import ObjectStore
import ParseProtocol
import ServiceKit
import ServiceSupport
import Testing

/// The common iteration over all objects of a user, which every service uses when an account is deleted.
@Suite struct OwnedObjectsTests {
    /// More than two pages of one user's objects.
    private static let count = 450

    private static func store() async throws -> SandboxStore {
        let things = ClassDefinition("Thing", fields: ["owner": .pointer("_User"), "number": .number])
        let sandbox = try await SandboxStore(ServicePlan(name: "things", classes: [things]))
        try await sandbox.store.write { transaction in
            for (owner, count) in [("ann", Self.count), ("ben", 3)] {
                for number in 0..<count {
                    _ = try transaction.create(
                        "Thing", ["owner": .pointer("_User", owner), "number": .int(Int64(number))], caller: .master)
                }
            }
        }
        return sandbox
    }

    private static func numbers(of owner: String, in sandbox: SandboxStore) async throws -> Set<Int64> {
        let query = Query(className: "Thing", where: ["owner": .pointer("_User", owner)], limit: 1000)
        return Set(
            try await sandbox.store.read { try $0.documents(query, caller: .master) }.compactMap {
                $0["number"]?.intValue
            })
    }

    @Test func everyObjectComesOnceHoweverManyThereAre() async throws {
        let sandbox = try await Self.store()
        let seen = try await sandbox.store.write { transaction in
            var seen: [Int64] = []
            try transaction.forEach("Thing", of: "ann", "owner") { id, thing in
                seen.append(thing["number"]?.intValue ?? -1)
                if seen.count.isMultiple(of: 2) {
                    _ = try transaction.delete("Thing", id, caller: .master)
                } else {
                    _ = try transaction.update("Thing", id, ["owner": ["__op": "Delete"]], caller: .master)
                }
            }
            return seen
        }
        #expect(seen.sorted() == (0..<Int64(Self.count)).map { $0 })
        #expect(try await Self.numbers(of: "ann", in: sandbox).isEmpty)
        #expect(try await Self.numbers(of: "ben", in: sandbox).count == 3)
    }

    @Test func onlyWhatFitsIsTaken() async throws {
        let sandbox = try await Self.store()
        try await sandbox.store.write { transaction in
            try transaction.forEach("Thing", of: "ann", "owner", where: ["number": ["$gte": 10]]) { id, _ in
                _ = try transaction.update("Thing", id, ["owner": .pointer("_User", "eve")], caller: .master)
            }
        }
        #expect(try await Self.numbers(of: "ann", in: sandbox) == Set(0..<10))
        #expect(try await Self.numbers(of: "eve", in: sandbox).count == Self.count - 10)
    }

    /// Otherwise the single writer would loop forever.
    @Test func anObjectThatStaysEndsTheWorkAndUndoesIt() async throws {
        let sandbox = try await Self.store()
        await #expect(throws: ParseError.self) {
            try await sandbox.store.write { transaction in
                try transaction.forEach("Thing", of: "ann", "owner") { id, thing in
                    guard thing["number"] != 7 else { return }
                    _ = try transaction.delete("Thing", id, caller: .master)
                }
            }
        }
        #expect(try await Self.numbers(of: "ann", in: sandbox).count == Self.count)
    }
}
