import Messages
import ObjectStore
import ParseProtocol
import ServiceKit

/// Rules for `OrderItem` objects that apps save themselves. Each change updates the total of the open order.
struct OrderItemRules: ClassRules {
    let prices: BagPrices

    func prepare(_ change: inout ProposedChange) async throws {
        guard !CardNumber.isPresent(in: change.object) else { throw CardNumber.refused }
        guard !change.caller.isMaster, change.verb != .delete else { return }
        let product = try Self.product(change.object["product"], isRequired: change.verb == .create)
        let known = try await prices.ask(
            for: &change, products: [product].compactMap(\.self), items: [change.objectId].compactMap(\.self))
        if let product { try known.requireSold(product) }
    }

    /// A quantity of 0 removes the line, as in `setBagQuantity`.
    func replaces(_ change: ProposedChange, in transaction: StoreTransaction) throws -> ChangeOutcome? {
        guard change.verb == .update, !change.caller.isMaster, let quantity = change.object["quantity"] else {
            return nil
        }
        let item = try changeableItem(change, in: transaction)
        guard try Quantity.changed(item.quantity, by: quantity) == 0 else { return nil }
        try BagPrices.remember(change, in: transaction)
        let before = try transaction.delete("OrderItem", item.objectId, caller: .master)
        try settle(item, in: transaction)
        return ChangeOutcome(
            objectId: item.objectId, before: before, after: nil,
            answer: ["updatedAt": .string(transaction.now.iso), "quantity": 0])
    }

    func before(_ change: inout ProposedChange, in transaction: StoreTransaction) throws {
        guard !change.caller.isMaster else {
            if change.verb == .create { return try ImportedItems.complete(&change, in: transaction) }
            if let id = change.objectId { try requireNotBeingPaid(id, in: transaction) }
            return
        }
        switch change.verb {
        case .create:
            guard change.objectId == nil, change.object["objectId"] == nil else {
                throw ParseError(.invalidKeyName, "objectId is an invalid field name.")
            }
            let userId = try change.customerId
            try requireRoom(userId, change.caller, in: transaction)
            _ = try Self.product(change.object["product"], isRequired: true)
            var object = try Self.fields(change.object, customerId: userId)
            let quantity = try Quantity.parse(change.object["quantity"], in: 1...Quantity.max, whenMissing: 1)
            object["quantity"] = .int(Int64(quantity))
            object["customer"] = .pointer("_User", userId)
            object["ACL"] = Privacy.acl(userId)
            change.object = object
        case .update:
            let item = try changeableItem(change, in: transaction)
            var object = try Self.fields(change.object, customerId: item.customerId)
            if let quantity = change.object["quantity"] {
                object["quantity"] = .int(Int64(try Quantity.changed(item.quantity, by: quantity)))
            }
            change.object = object
        case .delete:
            _ = try changeableItem(change, in: transaction)
        }
        try BagPrices.remember(change, in: transaction)
        change.caller = .master
    }

    func after(
        _ change: ProposedChange, _ outcome: inout ChangeOutcome, in transaction: StoreTransaction
    ) throws {
        if change.verb == .update, !change.principal.master, let quantity = outcome.after?["quantity"] {
            outcome.answer["quantity"] = quantity
        }
        if change.verb != .create, let document = outcome.after ?? outcome.before,
            let item = BagItem(document: document)
        {
            try settle(item, in: transaction)
        }
    }

    /// Writes the name of a deleted product into its lines without a name: lines of bags, and of orders created by
    /// imports or cloud code.
    static func keepName(_ deleted: ProductDeleted, in transaction: StoreTransaction) throws {
        let lines: JSON = ["product": .pointer("Product", deleted.productID), "name": ["$exists": false]]
        try transaction.forEach("OrderItem", where: lines) { id, item in
            _ = try transaction.update(
                "OrderItem", id, ["name": .string(deleted.name), "updatedAt": item["updatedAt"] ?? .null],
                keepsTimes: true, caller: .master)
        }
    }

    /// Updates the lines and total of the customer's open order after a line changed or was deleted. An order without
    /// lines is deleted, as in `setBagQuantity`.
    private func settle(_ item: BagItem, in transaction: StoreTransaction) throws {
        guard let order = try OpenOrder.find(for: item.customerId, in: transaction),
            order.document.itemIds.contains(item.objectId)
        else { return }
        // The order was read without lines that no longer exist.
        if order.items.isEmpty {
            try order.delete(in: transaction)
        } else {
            try order.save(in: transaction)
        }
    }

    /// The caller's own line, if it may still be changed.
    /// - Throws: `.objectNotFound` (101) for a missing line or one of another customer, `.operationForbidden` (119) for
    ///   a line of a placed order, `.validationError` (142) while it is being paid.
    private func changeableItem(_ change: ProposedChange, in transaction: StoreTransaction) throws -> BagItem {
        let userId = try change.customerId
        let document = try transaction.document("OrderItem", try change.requiredObjectId, caller: change.caller)
        guard let item = BagItem(document: document), item.customerId == userId else { throw ParseError.objectNotFound }
        guard !item.isPlaced else {
            throw ParseError(.operationForbidden, "An item of a placed order cannot be changed.")
        }
        try CheckoutLedger.requireNotBeingPaid(item, in: transaction)
        return item
    }

    /// Items may be saved before they are put into an order. Limits items without an order.
    private func requireRoom(_ userId: String, _ caller: Caller, in transaction: StoreTransaction) throws {
        // Only an item of a placed order has its price.
        let loose = Query(
            className: "OrderItem",
            where: ["customer": .pointer("_User", userId), "unitPriceMinorUnits": ["$exists": false]])
        let count = try transaction.count(loose, caller: .master)
        guard transaction.quotas.admits(count, below: .itemsMax, by: caller) else {
            throw ParseError(.validationError, "Too many items do not belong to an order.")
        }
    }

    private func requireNotBeingPaid(_ itemId: String, in transaction: StoreTransaction) throws {
        guard let item = try BagItem.load([itemId], in: transaction).first else { return }
        try CheckoutLedger.requireNotBeingPaid(item, in: transaction)
    }

    // MARK: Fields

    private static let ignored: Set<String> = [
        "ACL", "objectId", "createdAt", "updatedAt", "className", "__type", "quantity",
    ]

    /// The fields that a client may write, except the quantity.
    private static func fields(_ object: JSON, customerId: String) throws -> JSON {
        var fields = JSON.object([:])
        for (name, value) in object.objectValue ?? [:] where !ignored.contains(name) {
            switch name {
            case "product": fields[name] = try product(value, isRequired: true).map { .pointer("Product", $0) }
            case "customer" where value.pointerTarget?.objectId == customerId: continue
            case "customer", "unitPriceMinorUnits", "name":
                throw ParseError(.operationForbidden, "\(name) is written by the server only.")
            default:
                throw ParseError(
                    .operationForbidden, "Permission denied for action addField on class OrderItem: \(name).")
            }
        }
        return fields
    }

    private static func product(_ value: JSON?, isRequired: Bool) throws -> String? {
        guard let value else {
            guard isRequired else { return nil }
            throw ParseError(.validationError, "product is required.")
        }
        guard let target = value.pointerTarget, target.className == "Product" else {
            throw ParseError.schemaMismatch(
                "OrderItem", "product", expected: .pointer("Product"), got: FieldType.sent(value) ?? .object)
        }
        guard Names.isObjectId(target.objectId) else { throw ParseError.objectNotFound }
        return target.objectId
    }
}
