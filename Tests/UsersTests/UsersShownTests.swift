import ObjectStore
import ParseProtocol
import ServiceKit
import Testing
import UsersService

/// The change of users' ACLs at startup when the public users setting is turned on or off.
@Suite struct UsersShownTests {
    private static let ids = (0..<450).map { "user\(1000 + $0)" }

    /// More users than fit in one page, all with the ACL of a sign-up.
    private static func fill(_ store: ClassStore) async throws {
        try await store.write { transaction in
            for id in ids {
                _ = try transaction.create(
                    "_User", ["username": .string(id), "ACL": .privateACL(id)], objectId: id, caller: .master)
            }
        }
    }

    private static func user(_ id: String, in store: ClassStore) async throws -> JSON {
        try await store.read { try $0.document("_User", id, caller: .master) }
    }

    private static func shown(in store: ClassStore) async throws -> Int {
        try await store.read { try $0.count(Query(className: "_User"), caller: .anonymous) }
    }

    private static func set(_ acl: JSON, of id: String, in store: ClassStore) async throws {
        try await store.write { transaction in
            _ = try transaction.update("_User", id, ["ACL": acl], caller: .master)
            try PublicUsers.isChosen(id, in: transaction)
        }
    }

    @Test func usersOfBeforeAreShownAsLongAsTheSettingSaysSo() async throws {
        try await withUsersStore { store in
            try await Self.fill(store)
            try await Self.set(["nobody": ["read": true]], of: Self.ids[0], in: store)
            try await Self.set(.privateACL(Self.ids[1]), of: Self.ids[1], in: store)
            try await Self.set(PublicUsers.acl(of: Self.ids[2]), of: Self.ids[2], in: store)
            let before = try await Self.user(Self.ids[449], in: store)
            try await PublicUsers.apply(false, to: store)
            #expect(try await Self.shown(in: store) == 1, "Nothing was shown by the setting.")
            // A second start changes nothing.
            for _ in 0..<2 {
                try await PublicUsers.apply(true, to: store)
                #expect(try await Self.shown(in: store) == 448)
            }
            let after = try await Self.user(Self.ids[449], in: store)
            #expect(after["ACL"] == PublicUsers.acl(of: Self.ids[449]))
            #expect(after["updatedAt"] == before["updatedAt"])
            #expect(try await Self.user(Self.ids[0], in: store)["ACL"] == ["nobody": ["read": true]])
            #expect(try await Self.user(Self.ids[1], in: store)["ACL"] == JSON.privateACL(Self.ids[1]))
            // The user chose this ACL while the setting was on, so turning it off does not remove it.
            try await Self.set(PublicUsers.acl(of: Self.ids[3]), of: Self.ids[3], in: store)
            for _ in 0..<2 {
                try await PublicUsers.apply(false, to: store)
                #expect(try await Self.shown(in: store) == 2)
            }
            #expect(try await Self.user(Self.ids[449], in: store) == before)
            try await PublicUsers.apply(true, to: store)
            #expect(try await Self.shown(in: store) == 448)
        }
    }
}
