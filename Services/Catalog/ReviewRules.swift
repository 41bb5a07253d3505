import ObjectStore
import ParseProtocol
import ServiceKit

/// A review belongs to the user who wrote it and counts towards its product's average.
struct ReviewRules: ClassRules {
    func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        switch change.verb {
        case .create:
            try change.claim("user", acl: Self.acl)
            change.defaultACL(from: "user", acl: Self.acl)
        case .update:
            // Whose a review is and who sees it never changes; clients that send whole objects send the ACL too.
            if !change.caller.isMaster { change.object["ACL"] = nil }
        case .delete: break
        }
    }

    func after(_ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction) throws {
        if let review = outcome.after {
            try outcome.requireUnchanged(["user", "product"], by: change)
            if change.verb == .create {
                guard let productId = review["product"]?.pointerTarget?.objectId else {
                    throw ParseError(.validationError, "A review needs its product.")
                }
                _ = try transaction.document("Product", productId, caller: change.caller)
            }
            if let rating = review["rating"], !rating.isNull {
                guard let stars = rating.intValue, (1...5).contains(stars) else {
                    throw ParseError(.validationError, "rating must be a whole number from 1 to 5.")
                }
            }
        }
        try ProductRatings.change(from: outcome.before, to: outcome.after, in: transaction)
    }

    /// Everybody reads, the author and the admins, who moderate, write.
    static func acl(_ userId: String) -> JSON {
        .object([
            "*": ["read": true], userId: ["read": true, "write": true], "role:admins": ["read": true, "write": true],
        ])
    }
}
