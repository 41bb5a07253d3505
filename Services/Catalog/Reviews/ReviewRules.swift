import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// A review belongs to the signed-up user who wrote it, one per product, and counts towards its product's average while
/// it is visible.
struct ReviewRules: ClassRules {
    let authors: ReviewAuthors

    func prepare(_ change: inout ProposedChange) async throws { await authors.prepare(&change) }

    func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        try ReviewAuthors.check(&change.object)
        if !change.caller.isMaster {
            // Only functions for admins decide about this; clients that send whole objects bring it along.
            change.object["moderation"] = nil
            change.object["moderationReason"] = nil
        }
        switch change.verb {
        case .create:
            if change.principal.anonymous, !change.caller.isMaster {
                throw ParseError(.operationForbidden, "Only a signed-up user can write a review.")
            }
            try transaction.quotas.take(of: .reviews, by: change.caller)
            if change.object["moderation"] == nil { change.object["moderation"] = "visible" }
            try change.claim("user", acl: Self.acl)
            change.defaultACL(from: "user", acl: Self.acl)
            try requireFirst(change.object, in: transaction)
            try keepHidden(&change, in: transaction)
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
                // It may be the account's, which the app did not send.
                outcome.answer["authorName"] = review["authorName"]
            }
            if let rating = review["rating"], !rating.isNull {
                guard let stars = rating.intValue, (1...5).contains(stars) else {
                    throw ParseError(.validationError, "rating must be a whole number from 1 to 5.")
                }
            }
            guard let moderation = ReviewModeration(of: review) else {
                throw ParseError(.validationError, "moderation must be visible or hidden.")
            }
            if moderation == .hidden, let userId = change.caller.userId,
                userId == review["user"]?.pointerTarget?.objectId
            {
                try ReviewReports.submitAgain(outcome.objectId, by: userId, in: transaction)
            }
        } else {
            try ReviewReports.forget(review: outcome.objectId, in: transaction)
        }
        try ProductRatings.change(from: outcome.before, to: outcome.after, in: transaction)
    }

    /// One writer makes all changes, so that nothing comes between this look and the creation. A unique index would do
    /// the same, but files from before this rule may hold several reviews of one user and could not have it.
    private func requireFirst(_ review: JSON, in transaction: StoreTransaction) throws {
        guard let user = review["user"], user.pointerTarget != nil, let product = review["product"],
            product.pointerTarget != nil
        else { return }
        let same = Query(className: "ProductReview", where: ["user": user, "product": product])
        guard try transaction.count(same, caller: .master) == 0 else {
            throw ParseError(
                .duplicateValue, "There is a review of this product by this user already; change that one.")
        }
    }

    private func keepHidden(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        guard !change.caller.isMaster, let userId = change.caller.userId,
            let productId = change.object["product"]?.pointerTarget?.objectId,
            try HiddenAuthors.contains(userId, of: productId, in: transaction)
        else { return }
        change.object["moderation"] = .string(ReviewModeration.hidden.rawValue)
        change.object["ACL"] = ReviewModeration.hidden.acl(author: userId)
    }

    /// Everybody reads, the author and the admins, who moderate, write.
    static func acl(_ userId: String) -> JSON { ReviewModeration.visible.acl(author: userId) }
}
