import ObjectStore
import ParseProtocol
import ServiceKit

/// Rules for `Order` objects that apps save themselves: the customer is the caller, each customer has one bag, and the
/// server alone writes money and numbers.
///
/// Clients have no write permission in an order's ACL. A change that passes these rules runs with all permissions.
struct OrderRules: ClassRules {
    let prices: BagPrices
    /// The shop's currency, in the form that an order stores.
    let currency: String

    func prepare(_ change: inout ProposedChange) async throws {
        guard !CardNumber.isPresent(in: change.object) else { throw CardNumber.refused }
        change.object = OrderChange.named(change.object)
        guard !change.caller.isMaster, change.verb != .delete, let sent = change.object["items"] else { return }
        try await prices.ask(for: &change, products: [], items: try ItemsChange(sent).named)
    }

    func replaces(_ change: ProposedChange, in transaction: StoreTransaction) throws -> ChangeOutcome? {
        guard change.verb == .create, !change.caller.isMaster else { return nil }
        let userId = try change.customerId
        guard let open = try OpenOrder.find(for: userId, in: transaction) else { return nil }
        // The customer filled a bag on another device: the new lines are added to that bag.
        try open.requireNotBeingPaid(in: transaction)
        try BagPrices.remember(change, in: transaction)
        var wanted = try OrderChange(change.object, present: nil, customerId: userId)
        if case .set(let ids) = wanted.items { wanted.add(ids) }
        let updated = try transaction.update(
            "Order", open.objectId, try fields(wanted, of: open.document, userId, in: transaction), caller: .master)
        var answer = JSON.object([:])
        for name in ["objectId", "createdAt", "items", "total", "currency"] { answer[name] = updated.document[name] }
        return ChangeOutcome(
            objectId: open.objectId, before: updated.before, after: updated.document, answer: answer)
    }

    func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        if change.verb == .create {
            return try beforeCreate(&change, in: transaction)
        }
        let objectId = try change.requiredObjectId
        guard !change.caller.isMaster else {
            try OrderStates.normalize(&change.object, isNew: false)
            try CheckoutLedger.requireNotBeingPaid(objectId, in: transaction)
            return try RefundLedger.requireNonePending(objectId, in: transaction)
        }
        let userId = try change.customerId
        let present = try transaction.document("Order", objectId, caller: change.caller)
        guard present["customer"]?.pointerTarget?.objectId == userId else { throw ParseError.objectNotFound }
        guard OrderStatus.isOpen(present) else {
            throw ParseError(.operationForbidden, "A placed order cannot be changed.")
        }
        try CheckoutLedger.requireNotBeingPaid(objectId, in: transaction)
        if change.verb == .update {
            try BagPrices.remember(change, in: transaction)
            let wanted = try OrderChange(change.object, present: present, customerId: userId)
            change.object = try fields(wanted, of: present, userId, in: transaction)
        }
        change.caller = .master
    }

    private func beforeCreate(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        guard !change.caller.isMaster else {
            change.defaultACL(from: "customer", acl: Privacy.acl)
            return try OrderStates.normalize(&change.object, isNew: true)
        }
        guard change.objectId == nil, change.object["objectId"] == nil else {
            throw ParseError(.invalidKeyName, "objectId is an invalid field name.")
        }
        let userId = try change.customerId
        try transaction.quotas.take(of: .carts, by: change.caller)
        try BagPrices.remember(change, in: transaction)
        let wanted = try OrderChange(change.object, present: nil, customerId: userId)
        var object = OpenOrder.initial(userId, items: [], total: 0, currency: currency)
        for (name, value) in try fields(wanted, of: object, userId, in: transaction).objectValue ?? [:] {
            object[name] = value
        }
        change.object = object
        change.caller = .master
    }

    func after(
        _ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction
    ) throws {
        // A repeated create changes nothing: its first attempt already updated the totals and the entry.
        if !outcome.isRepeated {
            try CustomerTotals(currency: currency).orderChanged(
                from: outcome.before, to: outcome.after, in: transaction)
            try OrderEntries.orderChanged(from: outcome.before, to: outcome.after, in: transaction)
        }
        switch change.verb {
        case .create, .update:
            guard !change.principal.master else {
                try OrderOrigins.follow(outcome, isImported: change.isImported, in: transaction)
                if let order = outcome.after, change.object["items"] != nil || change.object["customer"] != nil {
                    try ImportedItems.adopt(order, in: transaction)
                }
                // An import may bring its own numbers.
                if change.object["orderNo"] != nil, let orderNo = outcome.after?["orderNo"], !orderNo.isNull {
                    try OrderNumbers.recordImported(orderNo, in: transaction)
                }
                return
            }
            for name in ["items", "total", "currency"] where change.object[name] != nil {
                outcome.answer[name] = outcome.after?[name]
            }
        case .delete:
            for item in try BagItem.load(outcome.before?.itemIds ?? [], in: transaction) {
                _ = try transaction.delete("OrderItem", item.objectId, caller: .master)
            }
            try OrderNotes.removeAll(of: outcome.objectId, in: transaction)
            try OrderOrigins.forget(outcome.objectId, in: transaction)
        }
    }

    /// The fields to store for a client's change: the client's own, plus the new total when lines change.
    private func fields(
        _ wanted: OrderChange, of present: JSON, _ userId: String, in transaction: StoreTransaction
    ) throws -> JSON {
        var fields = JSON.object(wanted.fields)
        guard let change = wanted.items else { return fields }
        let ids = change.applied(to: present.itemIds)
        guard ids.count <= OpenOrder.itemsMax else { throw OpenOrder.tooManyItems }
        let items = try BagItem.load(ids, in: transaction)
        for id in change.named {
            guard let item = items.first(where: { $0.objectId == id }), item.customerId == userId else {
                throw ParseError.objectNotFound
            }
            guard !item.isPlaced else {
                throw ParseError(.operationForbidden, "An item of a placed order cannot be ordered again.")
            }
        }
        fields["items"] = .orderItems(items.map(\.objectId))
        fields["total"] = .int(try KnownPrices.total(items, in: transaction))
        return fields
    }
}

extension ProposedChange {
    /// The signed-in user who owns the bag.
    /// - Throws: `.objectNotFound` (101), as class-level permissions do, because these rules run with all permissions.
    var customerId: String {
        get throws {
            guard let userId = caller.userId else {
                throw ParseError(.objectNotFound, "Permission denied, user needs to be authenticated.")
            }
            return userId
        }
    }
}
