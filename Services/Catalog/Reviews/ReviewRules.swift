import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The rules of `ProductReview`. A review belongs to the signed-up user who wrote it. There is one per user and
/// product, and it counts towards the product's average while it is visible.
struct ReviewRules: ClassRules {
    let authors: ReviewAuthors

    func prepare(_ change: inout ProposedChange) async throws { await authors.prepare(&change) }

    func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        try ReviewAuthors.check(&change.object)
        if !change.caller.isMaster {
            // Only admin functions write these fields; clients that send whole objects include them.
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
            change.defaultACL(from: "user", unowned: Self.unowned, acl: Self.acl)
            try requireFirst(change.object, in: transaction)
            try keepHidden(&change, in: transaction)
        case .update:
            // Owner and readers of a review never change; clients that send whole objects include the ACL.
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
                // The name may come from the account, so the app does not know it yet.
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

    /// No other change can happen between this check and the creation: there is a single writer, or the transaction is
    /// serializable. A unique index would do the same, but older databases may hold several reviews of one user and
    /// could not create it.
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

    /// Everyone may read; the author and the admins, as moderators, may write.
    static func acl(_ userId: String) -> JSON { ReviewModeration.visible.acl(author: userId) }

    /// The ACL of an imported review without an author.
    private static let unowned = ReviewModeration.visible.acl(author: nil)

    /// Sets ACLs on reviews that earlier releases imported without one, which every account could change.
    static func closeImports(in transaction: StoreTransaction) throws {
        try transaction.closeObjects("ProductReview", owner: "user", unowned: unowned, acl: acl)
    }
}
