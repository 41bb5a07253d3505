import Messages
import ObjectStore
import ParseProtocol

/// Updates ACLs that an earlier release wrote for the admins alone: editors also edit pages, and moderators also see
/// hidden reviews.
package enum EditorRights {
    private static let pageSize = 500

    /// Gives stored objects the ACLs that new objects get.
    package static func grant(in transaction: StoreTransaction) throws {
        try each("Page", in: transaction) { page in PageRules.acl(isPublished: page["published"] != false) }
        try each("ProductReview", where: ["moderation": "hidden"], in: transaction) { review in
            ReviewModeration.hidden.acl(author: review["user"]?.pointerTarget?.objectId)
        }
    }

    private static func each(
        _ className: String, where condition: JSON = [:], in transaction: StoreTransaction, _ acl: (JSON) -> JSON
    ) throws {
        guard transaction.hasClass(className) else { return }
        var condition = condition
        while true {
            let query = Query(className: className, where: condition, order: ["objectId"], limit: pageSize)
            let page = try transaction.documents(query, caller: .master)
            for object in page {
                guard let id = object["objectId"]?.stringValue else { continue }
                _ = try transaction.update(className, id, ["ACL": acl(object)], caller: .master)
            }
            guard page.count == pageSize, let last = page.last?["objectId"] else { return }
            condition["objectId"] = ["$gt": last]
        }
    }
}
