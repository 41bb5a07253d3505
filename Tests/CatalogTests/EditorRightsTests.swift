import CatalogService
import ObjectStore
import ParseProtocol
import ServiceKit
import ServiceSupport
import Testing

/// Pages and hidden reviews from a release in which only admins ran the shop.
@Suite struct EditorRightsTests {
    private let sandbox: SandboxStore

    init() async throws { sandbox = try await SandboxStore(catalogPlan(.standard)) }

    @Test func editorsGetTheAdminsFormerRights() async throws {
        let admins: JSON = ["role:admins": ["read": true, "write": true]]
        var shown = admins
        shown["*"] = ["read": true]
        let (open, acl) = (shown, admins)
        let ids = try await sandbox.store.write { transaction in
            func create(_ className: String, _ object: JSON) throws -> String {
                try transaction.create(className, object, caller: .master).objectId
            }
            let ids = [
                try create("Page", ["name": "about", "title": "About", "published": true, "ACL": open]),
                try create("Page", ["name": "draft", "title": "Draft", "published": false, "ACL": acl]),
                try create("ProductReview", ["moderation": "hidden", "content": "x", "ACL": acl]),
                try create("ProductReview", ["content": "y", "ACL": open]),
            ]
            try EditorRights.grant(in: transaction)
            return ids
        }
        let write: JSON = ["read": true, "write": true]
        let about = try await sandbox.document("Page", ids[0])["ACL"]
        #expect(about?["role:catalog-editors"] == write)
        #expect(about?["*"] == ["read": true])
        let draft = try await sandbox.document("Page", ids[1])["ACL"]
        #expect(draft == ["role:admins": write, "role:catalog-editors": write])
        let hidden = try await sandbox.document("ProductReview", ids[2])["ACL"]
        #expect(hidden?["role:support"] == ["read": true])
        #expect(hidden?["*"] == nil)
        #expect(try await sandbox.document("ProductReview", ids[3])["ACL"] == open)
    }
}
