import Foundation
import Messages
import ObjectStore
import ParseProtocol
import ServiceSupport
import TestSupport
import Testing
import UsersService

/// The audit log in its table.
@Suite struct UsersAuditTests {
    private static func message(
        _ action: String, _ objectId: String, at time: Timestamp, by userId: String = "u1"
    ) -> AuditChanges {
        .with {
            $0.at = time.milliseconds
            $0.userID = userId
            $0.address = "192.0.2.7"
            $0.requestID = "r1"
            $0.changes = [
                .with {
                    $0.action = action
                    $0.className = "Product"
                    $0.objectID = objectId
                    $0.before = Data(#"{"unitPrice":3}"#.utf8)
                    $0.after = Data(#"{"unitPrice":4}"#.utf8)
                }
            ]
        }
    }

    private static func page(_ store: ClassStore, _ parameters: JSON = [:]) async throws -> JSON {
        let page = try AuditPage(parameters)
        return try await store.read { try page.read(in: $0) }
    }

    @Test func anEntrySaysWhoWhatBeforeAndAfter() async throws {
        try await withUsersStore { store in
            try await store.write { transaction in
                let user = try transaction.create("_User", ["username": "ann"], caller: .master)
                try AuditLog.add(
                    Self.message("update", "p1", at: transaction.now, by: user.objectId), in: transaction)
                try AuditLog.add(Self.message("delete", "p2", at: transaction.now, by: ""), in: transaction)
            }
            let entries = try await Self.page(store)["entries"]?.arrayValue ?? []
            #expect(entries.count == 2)
            #expect(entries.first?["who"] == "master key")
            #expect(entries.first?["via"] == "masterKey")
            let entry = try #require(entries.last)
            #expect(entry["who"] == "ann")
            #expect(entry["via"] == "session")
            #expect(entry["action"] == "update")
            #expect(entry["before"] == ["unitPrice": 3])
            #expect(entry["after"] == ["unitPrice": 4])
            #expect(entry["requestId"] == "r1")
            #expect(entry["address"] == "192.0.2.7")
        }
    }

    @Test func pagesFollowEachOtherAndFiltersHold() async throws {
        try await withUsersStore { store in
            let start = Timestamp(milliseconds: 1_900_000_000_000)
            try await store.write { transaction in
                for index in 0..<7 {
                    try AuditLog.add(
                        Self.message("update", "p\(index % 2)", at: start.advanced(by: .seconds(Int64(index)))),
                        in: transaction)
                }
            }
            var seen = 0
            var parameters: JSON = ["limit": 3]
            while true {
                let page = try await Self.page(store, parameters)
                seen += page["entries"]?.arrayValue?.count ?? 0
                guard let next = page["next"], !next.isNull else { break }
                parameters["after"] = next
            }
            #expect(seen == 7)
            func count(_ parameters: JSON) async throws -> Int? {
                try await Self.page(store, parameters)["entries"]?.arrayValue?.count
            }
            #expect(try await count(["objectId": "p1"]) == 3)
            #expect(try await count(["who": "u1", "className": "Product"]) == 7)
            #expect(try await count(["who": "master key"]) == 0)
            let from = JSON.string(start.advanced(by: .seconds(2)).iso)
            #expect(try await count(["from": from]) == 5)
            #expect(try await count(["to": from]) == 2)
            for parameters in [["after": "x"], ["limit": 0], ["from": "soon"], ["who": ["$ne": ""]]] as [JSON] {
                #expect(throws: ParseError.self) { try AuditPage(parameters) }
            }
        }
    }

    /// The history of one object, which a product's page queries.
    @Test(
        .enabled(if: testsRunOnSQLite),
        arguments: [
            ["objectId": "p1"], ["objectId": "p1", "className": "Product"], ["objectId": "p1", "after": "900"],
            ["objectId": "p1", "who": "u1"],
            ["objectId": "p1", "from": "2030-01-01T00:00:00.000Z", "to": "2031-01-01T00:00:00.000Z"],
        ] as [JSON])
    func entriesOfOneObjectAreFoundByAnIndex(_ parameters: JSON) async throws {
        try await withUsersStore { store in
            let page = try AuditPage(parameters)
            let plan = try await store.read { try page.plan(in: $0) }
            #expect(plan.contains("objectId=?"), "\(plan)")
            #expect(!plan.contains("SCAN") && !plan.contains("TEMP B-TREE"), "\(plan)")
        }
    }

    @Test func onlyAdminsSeeTheOriginOfAChange() async throws {
        try await withUsersStore { store in
            try await store.write { try AuditLog.add(Self.message("update", "p1", at: $0.now), in: $0) }
            let page = try AuditPage(["className": "Product"])
            let answer = try await store.read { try page.read(in: $0, tellsClient: false) }
            let entry = try #require(answer.at("entries", 0))
            #expect(entry["before"] == ["unitPrice": 3])
            #expect(entry["address"] == nil)
            #expect(entry["requestId"] == nil)
        }
    }

    @Test func entriesStayAsTheyAreUntilTheirTimeIsOver() async throws {
        try await withUsersStore { store in
            try await store.write { transaction in
                let old = transaction.now.advanced(by: .zero - .seconds(11 * 86_400))
                try AuditLog.add(Self.message("update", "old", at: old), in: transaction)
                try AuditLog.add(Self.message("update", "new", at: transaction.now), in: transaction)
            }
            await #expect(throws: (any Error).self) {
                try await store.write { try $0.execute("UPDATE auditEntries SET who = 'somebody else'") }
            }
            #expect(try await Self.page(store)["entries"]?.arrayValue?.count == 2)
            let isMoreLeft = try await store.write { try AuditLog.removeOld(days: 10, in: $0) }
            #expect(!isMoreLeft)
            let left = try await Self.page(store)["entries"]
            #expect(left?.arrayValue?.count == 1)
            #expect(left?.arrayValue?.first?["objectId"] == "new")
        }
    }

    // MARK: Roles

    @Test func aRoleThatAShopHadUnderAReservedNameIsSetAside() async throws {
        try await withUsersStore { store in
            let id = try await store.write { transaction in
                let role = try transaction.create("_Role", ["name": "support", "ACL": [:]], caller: .master)
                try OperatorRoles.setAside(in: transaction)
                return role.objectId
            }
            let name = try await store.read { try $0.document("_Role", id, caller: .master)["name"] }
            #expect(name == .string("support before \(id)"))
        }
    }

    @Test(
        arguments: [
            ("admins", ["users": ["__op": "AddRelation"]], false, true, nil),
            ("order-desk", ["roles": ["__op": "AddRelation"]], false, true, nil),
            ("staff", ["ACL": [:]], true, false, nil), ("order-desk", ["users": [:]], false, false, 101),
            ("order-desk", ["ACL": [:]], false, true, 119), ("admins", [:], true, true, 119),
            ("admins", [:], true, false, 101),
        ] as [(String, JSON, Bool, Bool, Int?)])
    func adminsChangeOnlyMembersOfReservedRoles(
        _ name: String, _ object: JSON, _ isDelete: Bool, _ isAdmin: Bool, _ code: Int?
    ) {
        let found = UsersAccountTests.code {
            try OperatorRoles.check(object, isDelete: isDelete, ofRoleNamed: name, isAdmin: isAdmin)
        }
        #expect(found == code)
    }
}
