import ObjectStore
import ParseProtocol
import ServiceSupport
import TestSupport
import Testing
import UsersService

/// The stored views of the dashboard's lists.
@Suite struct DeskViewTests {
    private static func save(_ name: String, _ query: String, of userId: String, in store: ClassStore) async throws {
        let view = try DeskViews.View(["list": "orders", "name": .string(name), "query": .string(query)])
        try await store.write { try DeskViews.save(view, of: userId, in: $0) }
    }

    private static func all(of userId: String, in store: ClassStore) async throws -> [JSON] {
        try await store.read { try DeskViews.all(of: userId, in: $0) }.arrayValue ?? []
    }

    @Test func aViewIsReplacedByOneOfItsName() async throws {
        try await withUsersStore { store in
            try await Self.save("b", "state=made", of: "u1", in: store)
            try await Self.save("a", "page=1", of: "u1", in: store)
            try await Self.save("b", "state=shipped", of: "u1", in: store)
            #expect(
                try await Self.all(of: "u1", in: store) == [
                    ["list": "orders", "name": "a", "query": "page=1"],
                    ["list": "orders", "name": "b", "query": "state=shipped"],
                ])
            #expect(try await Self.all(of: "u2", in: store).isEmpty)
        }
    }

    @Test func anOperatorHasSoManyAndTheyGoWithTheAccount() async throws {
        try await withUsersStore { store in
            try await store.write { transaction in
                for index in 0..<DeskViews.countMax {
                    let view = try DeskViews.View(["list": "orders", "name": .string("view \(index)")])
                    try DeskViews.save(view, of: "u1", in: transaction)
                }
            }
            #expect(await parseCode { try await Self.save("one more", "a=b", of: "u1", in: store) } == 142)
            // A view with that name already exists.
            try await Self.save("view 7", "a=b", of: "u1", in: store)
            try await Self.save("mine", "a=b", of: "u2", in: store)
            try await store.write { try DeskViews.forget("u1", in: $0) }
            #expect(try await Self.all(of: "u1", in: store).isEmpty)
            #expect(try await Self.all(of: "u2", in: store).count == 1)
        }
    }

    @Test func whatIsNotThereIsNotRemoved() async throws {
        try await withUsersStore { store in
            try await Self.save("a", "a=b", of: "u1", in: store)
            let view: JSON = ["list": "orders", "name": "a"]
            func remove(_ parameters: JSON, of userId: String) async -> Int? {
                await parseCode {
                    try await store.write { try DeskViews.remove(parameters, of: userId, in: $0) }
                }
            }
            #expect(await remove(view, of: "u2") == 101)
            #expect(await remove(["list": "orders"], of: "u1") == 142)
            #expect(await remove(view, of: "u1") == nil)
            #expect(await remove(view, of: "u1") == 101)
        }
    }

    @Test(
        arguments: [
            [:], ["list": "orders"], ["name": "a"], ["list": "orders", "name": " "],
            ["list": "orders", "name": "a\nb"], ["list": "orders", "name": "a", "query": 7],
            ["list": "orders", "name": .string(String(repeating: "x", count: 201))],
            ["list": .string(String(repeating: "x", count: 61)), "name": "a"],
            ["list": "orders", "name": "a", "query": .string(String(repeating: "x", count: 2001))],
        ] as [JSON])
    func whatIsNoViewIsRefused(_ parameters: JSON) async {
        #expect(await parseCode { _ = try DeskViews.View(parameters) } == 142)
    }
}
