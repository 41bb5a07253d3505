import Foundation
import ObjectStore
import ParseProtocol
import Testing

/// The writer announces each change before any reader can see it.
@Suite struct ChangeAnnouncementTests {
    private static func board(_ test: TestStore) throws -> ChangeBoard {
        try #require(ChangeBoard.find(ChangeBoard.path(beside: test.path), identity: test.store.boardIdentity))
    }

    @Test(.sqliteOnly("A board is of the one writer of a file."))
    func eachWriteEndsWhatItChangesAndNothingElse() async throws {
        let test = try await TestStore(schema: ["CREATE TABLE own(n INTEGER)"], announcement: .kept)
        let a = try await test.create("Product", ["name": "a"])
        let b = try await test.create("Product", ["name": "b"])
        try await test.create("Store", ["name": "s"])
        let board = try Self.board(test)
        func stamps() throws -> (page: ChangeStamp, a: ChangeStamp, b: ChangeStamp, stores: ChangeStamp) {
            (
                try #require(board.stamp(of: .page(ofClass: "Product"))),
                try #require(board.stamp(of: .object(ofClass: "Product", id: a))),
                try #require(board.stamp(of: .object(ofClass: "Product", id: b))),
                try #require(board.stamp(of: .page(ofClass: "Store")))
            )
        }
        var before = try stamps()
        try await test.update("Product", a, ["name": "c"])
        #expect(!before.page.isCurrent && !before.a.isCurrent)
        #expect(before.b.isCurrent && before.stores.isCurrent)
        before = try stamps()
        try await test.delete("Product", a)
        #expect(!before.page.isCurrent && !before.a.isCurrent)
        #expect(before.b.isCurrent && before.stores.isCurrent)
        before = try stamps()
        try await test.create("Product", ["name": "d"])
        #expect(!before.page.isCurrent)
        #expect(before.b.isCurrent && before.stores.isCurrent)
        before = try stamps()
        // A new field changes the class, so it counts as a change of everything.
        try await test.update("Product", b, ["color": "red"])
        #expect(!before.b.isCurrent && !before.stores.isCurrent)
        before = try stamps()
        // A write to a service's own table changes nothing that readers of classes see.
        _ = try await test.store.write { try $0.execute("INSERT INTO own VALUES(1)") }
        _ = await code { try await test.update("Product", "missing", ["name": "x"]) }
        #expect(before.page.isCurrent && before.b.isCurrent && before.stores.isCurrent)
    }

    /// While a commit may or may not be visible, no stamp is issued or accepted.
    @Test(.sqliteOnly("A board is of the one writer of a file."))
    func whatAJobHasChangedIsNotSaidToBeCurrentWhenItIsCommitted() async throws {
        let test = try await TestStore(announcement: .kept)
        let id = try await test.create("Product", ["name": "a"])
        let board = try Self.board(test)
        let stamp = try #require(board.stamp(of: .object(ofClass: "Product", id: id)))
        let wasCurrent = try await test.store.write { transaction in
            _ = try transaction.update("Product", id, ["name": "b"], caller: .master)
            transaction.afterCommit { #expect(!stamp.isCurrent) }
            return stamp.isCurrent
        }
        // Before the commit, readers do not see the change.
        #expect(wasCurrent)
        #expect(!stamp.isCurrent)
    }

    @Test(.sqliteOnly("A board is of the one writer of a file."))
    func aWriterThatEndsLeavesNothingThatIsBelieved() async throws {
        let first = try await TestStore(announcement: .kept)
        try await first.create("Product", ["name": "a"])
        let board = try Self.board(first)
        let stamp = try #require(board.stamp(of: .page(ofClass: "Product")))
        first.store.stop()
        #expect(!stamp.isCurrent)
        #expect(board.stamp(of: .page(ofClass: "Product")) == nil)
        let second = try await TestStore(path: first.path, announcement: .kept)
        #expect(second.store.boardIdentity == board.identity)
        #expect(!stamp.isCurrent)
        #expect(board.stamp(of: .page(ofClass: "Product"))?.isCurrent == true)
        second.store.stop()
        let third = try await TestStore(path: first.path, announcement: .retired)
        #expect(third.store.boardIdentity == 0)
        #expect(board.stamp(of: .page(ofClass: "Product")) == nil)
        // Keeps the folder, which `first` removes.
        withExtendedLifetime(first) {}
    }

    // MARK: Sharing between callers

    private static func sharing(
        _ test: TestStore, _ id: String, _ condition: JSON, as caller: Caller, count: Bool = false
    ) async throws -> (object: ResponseSharing, page: ResponseSharing) {
        let query = Query(className: "Product", where: condition.serialized, wantsCount: count)
        return try await test.store.read { reader in
            (
                try reader.read("Product", id, keys: [], excludeKeys: [], caller: caller).sharing,
                try reader.find(query, caller: caller).sharing
            )
        }
    }

    @Test(.sqliteOnly("Shared answers are believed by the board of a file's writer."))
    func answersWithPrivateObjectsAreNotShared() async throws {
        let test = try await TestStore()
        let id = try await test.create("Product", ["name": "a"])
        for caller in [ann, .anonymous, admin] {
            let sharing = try await Self.sharing(test, id, [:], as: caller)
            #expect(sharing.object == .everybody)
            #expect(sharing.page == .everybody)
        }
        let ofMaster = try await Self.sharing(test, id, [:], as: .master)
        #expect(ofMaster.object == .alike)
        #expect(ofMaster.page == .alike)
        try await test.create("Product", ["name": "b", "ACL": ["bobbobbobb": ["read": true]]])
        // The object is still public; the page is not.
        let ofAnn = try await Self.sharing(test, id, [:], as: ann)
        #expect(ofAnn.object == .everybody)
        #expect(ofAnn.page == .nobody)
        let ofStranger = try await Self.sharing(test, id, ["name": "a"], as: .anonymous, count: true)
        #expect(ofStranger.page == .alike)
    }

    @Test(arguments: [
        ["createdAt": ["$lt": ["$relativeTime": "now"]]] as JSON,
        ["place": ["$nearSphere": ["__type": "GeoPoint", "latitude": 1, "longitude": 1]]],
        ["maker.name": "x"],
    ])
    func whatDependsOnMoreThanTheClassIsNobodyElses(_ condition: JSON) async throws {
        let test = try await TestStore()
        let maker = try await test.create("Maker", ["name": "x"])
        let id = try await test.create(
            "Product",
            [
                "maker": .pointer("Maker", maker),
                "place": ["__type": "GeoPoint", "latitude": 1, "longitude": 1],
            ])
        #expect(try await Self.sharing(test, id, condition, as: .anonymous).page == .nobody)
    }
}
