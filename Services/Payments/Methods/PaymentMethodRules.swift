import ObjectStore
import ParseProtocol
import ServiceKit

/// Clients list and delete their payment methods and choose the default. New ones come from the provider, through
/// `createStripeCustomer` and `addPaymentMethod`. An app that then saves a PaymentMethod itself gets the existing one.
struct PaymentMethodRules: ClassRules {
    func prepare(_ change: inout ProposedChange) async throws {
        let names = change.object.objectValue?.keys.map { $0.lowercased().filter(\.isLetter) } ?? []
        if names.contains(where: Self.secretFields.contains) || CardNumber.isPresent(in: change.object) {
            throw CardNumber.refused
        }
    }

    /// Names of fields that only the card's holder and the provider may know, in lower case without digits and
    /// underscores.
    private static let secretFields: Set<String> = [
        "number", "cardnumber", "pan", "cvc", "cvv", "cid", "csc", "securitycode", "cardsecuritycode",
    ]

    func replaces(_ change: ProposedChange, in transaction: StoreTransaction) throws -> ChangeOutcome? {
        guard change.verb == .create, !change.caller.isMaster, let userId = change.caller.userId else { return nil }
        var claimed = change
        try claimed.claim("owner", acl: JSON.privateACL)
        guard let customer = change.object["stripeCustomerId"]?.stringValue,
            var method = try PaymentMethods.find(customer: customer, owner: userId, in: transaction),
            let objectId = method["objectId"]?.stringValue, let createdAt = method["createdAt"]
        else {
            throw ParseError(
                .operationForbidden, "A payment method is made by createStripeCustomer or addPaymentMethod.")
        }
        let before = method
        if change.object["default"] == true {
            method = try PaymentMethods.makeDefault(objectId, owner: userId, in: transaction)
        }
        return ChangeOutcome(
            objectId: objectId, before: before, after: method,
            answer: ["objectId": .string(objectId), "createdAt": createdAt])
    }

    func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        switch change.verb {
        case .create: change.defaultACL(from: "owner", acl: JSON.privateACL)
        case .update where !change.caller.isMaster && change.caller.userId != nil:
            // Clients that send whole objects repeat unchanged fields.
            let present = try transaction.document(change.className, try change.requiredObjectId, caller: change.caller)
            for (field, value) in change.object.objectValue ?? [:] where field != "default" || value != true {
                guard value == present[field] || field == "ACL" else {
                    throw ParseError(.operationForbidden, "Only `default` of a payment method can be set, to true.")
                }
                change.object[field] = nil
            }
        case .update, .delete: break
        }
    }

    func after(_ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction) throws {
        guard let owner = (outcome.after ?? outcome.before)?["owner"]?.pointerTarget?.objectId else {
            guard change.verb == .delete else {
                throw ParseError(.validationError, "A payment method needs its owner.")
            }
            return
        }
        switch change.verb {
        case .create, .update:
            guard outcome.after?["default"] == true else { return }
            try PaymentMethods.makeDefault(outcome.objectId, owner: owner, in: transaction)
        case .delete:
            if let customer = outcome.before?["stripeCustomerId"]?.stringValue {
                try CustomerDeletions.add(customer, in: transaction)
            }
            guard outcome.before?["default"] == true,
                let next = try PaymentMethods.all(of: owner, in: transaction).first?["objectId"]?.stringValue
            else { return }
            try PaymentMethods.makeDefault(next, owner: owner, in: transaction)
        }
    }
}
