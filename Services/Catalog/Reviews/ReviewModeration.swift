import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Decides whether a review is shown. New reviews are visible at once. Admins, the catalog's editors and support may
/// hide a review and show it again. A hidden review does not count, and only its author and moderators see it. A
/// changed or rewritten version by the same author stays hidden until a moderator has checked it.
package enum ReviewModeration: String {
    case visible, hidden

    /// Maximum bytes of the reason that the author gets to read.
    static let reasonBytesMax = 500

    /// The state in a review's document. Reviews older than moderation are visible. Nil for an unknown state.
    init?(of review: JSON) {
        guard let state = review["moderation"], !state.isNull else {
            self = .visible
            return
        }
        guard let name = state.stringValue else { return nil }
        self.init(rawValue: name)
    }

    /// - Parameter author: nil when the account was deleted.
    func acl(author: String?) -> JSON {
        var acl: [String: JSON] = ["role:\(adminsRole)": ["read": true, "write": true]]
        switch self {
        case .visible: acl["*"] = ["read": true]
        // Roles that may show the review again can read it.
        case .hidden:
            for area in [OperatorArea.catalog, .support] { acl["role:\(area.role)"] = ["read": true] }
        }
        if let author { acl[author] = ["read": true, "write": true] }
        return .object(acl)
    }

    /// Hides or shows a review, which also closes its reports. Repeating the call changes nothing but the reason.
    /// - Returns: the review's documents before and after.
    /// - Throws: `ParseError.objectNotFound`.
    package func apply(
        to reviewId: String, reason: String? = nil, in transaction: StoreTransaction
    ) throws -> (before: JSON, after: JSON) {
        let review = try transaction.document("ProductReview", reviewId, caller: .master)
        let changes: JSON = [
            "moderation": .string(rawValue), "moderationReason": reason.map(JSON.string) ?? ["__op": "Delete"],
            "ACL": acl(author: review["user"]?.pointerTarget?.objectId),
        ]
        let updated = try transaction.update("ProductReview", reviewId, changes, caller: .master)
        try ProductRatings.change(from: updated.before, to: updated.document, in: transaction)
        try ReviewReports.settle(reviewId, in: transaction)
        if let author = review["user"]?.pointerTarget, let product = review["product"]?.pointerTarget {
            try HiddenAuthors.set(self == .hidden, author.objectId, of: product.objectId, in: transaction)
        }
        return (updated.before, updated.document)
    }
}

/// The cloud functions for reviews.
struct ReviewFunctions: Sendable {
    let host: ServiceHost

    func install(in routes: inout ServiceRoutes) {
        routes.function("hideReview") { parameters, request in
            try await moderate(.hidden, parameters, request)
        }
        routes.function("showReview") { parameters, request in
            try await moderate(.visible, parameters, request)
        }
        routes.function("reportReview") { parameters, request in
            let userId = try request.userId
            guard !request.envelope.principal.anonymous else {
                throw ParseError(.operationForbidden, "Only a signed-up user can report a review.")
            }
            let reviewId = try parameters.objectIdParameter("reviewId")
            return try await host.commit(request) { transaction in
                _ = try transaction.document("ProductReview", reviewId, caller: request.caller)
                try ReviewReports.add(reviewId, by: userId, in: transaction)
                return try .result(["reported": true])
            }
        }
        routes.function("reviewsToModerate") { parameters, request in
            try request.requireArea(.catalog, .support)
            let limit = try parameters.listLimit()
            let wantsCount = try parameters.wantsCount()
            return try .result(
                await host.store.read(for: request.share) { reader in
                    try JSON.listing(
                        ReviewReports.open(limit: limit, in: reader),
                        count: wantsCount ? ReviewReports.openCount(in: reader) : nil)
                })
        }
    }

    private func moderate(
        _ state: ReviewModeration, _ parameters: JSON, _ request: ServiceRequest
    ) async throws -> BusReply {
        try request.requireArea(.catalog, .support)
        let reviewId = try parameters.objectIdParameter("reviewId")
        let reason = try parameters.textParameter("reason", bytesMax: ReviewModeration.reasonBytesMax)
        return try await host.commit(request) { transaction in
            let review = try state.apply(to: reviewId, reason: reason, in: transaction)
            try host.audit.note(
                .init(
                    state == .hidden ? "hideReview" : "showReview", "ProductReview", reviewId, before: review.before,
                    after: review.after), by: request, in: transaction)
            return try .result(review.after.parseObject(of: "ProductReview"))
        }
    }
}
