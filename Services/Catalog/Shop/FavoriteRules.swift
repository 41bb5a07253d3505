import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// The rules of `FavoriteProduct`. A favourite belongs to the customer, one per customer and product. Saving it again
/// returns the existing one.
struct FavoriteRules: ClassRules {
    let prepares = false

    func replaces(_ change: ProposedChange, in transaction: StoreTransaction) throws -> ChangeOutcome? {
        guard change.verb == .create else { return nil }
        var change = change
        try claim(&change)
        guard let customer = change.object["customer"]?.pointerTarget,
            let product = change.object["product"]?.pointerTarget,
            change.caller.isMaster || change.caller.userId == customer.objectId
        else { return nil }
        let same = Query(
            className: "FavoriteProduct",
            where: [
                "customer": .pointer("_User", customer.objectId), "product": .pointer("Product", product.objectId),
            ], limit: 1)
        guard let kept = try transaction.documents(same, caller: .master).first,
            let objectId = kept["objectId"], let createdAt = kept["createdAt"]
        else { return nil }
        return ChangeOutcome(
            objectId: objectId.stringValue ?? "", before: kept, after: kept,
            answer: ["objectId": objectId, "createdAt": createdAt])
    }

    func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        switch change.verb {
        case .create:
            try claim(&change)
            try requireRoom(change, in: transaction)
        case .update: if !change.caller.isMaster { change.object["ACL"] = nil }
        case .delete: break
        }
    }

    func after(_ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction) throws {
        try outcome.requireUnchanged(["customer", "product"], by: change)
        guard change.verb == .create else { return }
        guard let favorite = outcome.after, favorite["customer"]?.pointerTarget != nil,
            let productId = favorite["product"]?.pointerTarget?.objectId
        else { throw ParseError(.validationError, "A favourite needs its customer and its product.") }
        _ = try transaction.document("Product", productId, caller: change.caller)
    }

    private func requireRoom(_ change: ProposedChange, in transaction: StoreTransaction) throws {
        guard !change.caller.isOperator, let userId = change.caller.userId else { return }
        let own = Query(className: "FavoriteProduct", where: ["customer": .pointer("_User", userId)])
        let count = try transaction.count(own, caller: .master)
        guard transaction.quotas.admits(count, below: .favoritesMax, by: change.caller) else {
            throw ParseError(.validationError, "You have as many favourites as can be kept.")
        }
    }

    private func claim(_ change: inout ProposedChange) throws {
        if change.principal.anonymous, !change.caller.isMaster {
            throw ParseError(.operationForbidden, "Only a signed-up user can keep favourites.")
        }
        try change.claim("customer", acl: JSON.privateACL)
        change.defaultACL(from: "customer", acl: JSON.privateACL)
    }
}
