import ObjectStore
import ParseProtocol

/// The keys that identify a repeated checkout: the client's idempotency key (`client:…`) and the key of each request
/// (`request:…`), which the gateway reuses when it retries after a process died.
enum CheckoutKeys {
    /// The checkout for which one of the keys was used.
    ///
    /// A checkout that failed with 142 releases the client's key: nothing was charged, so the key may be used again.
    /// - Throws: `.validationError` (142) when the client's key was used for another request or another bag. The client
    ///   would take the stored receipt for the receipt of this bag.
    static func checkout(
        _ keys: [String], of customerId: String, _ request: CheckoutRequest, in store: ObjectReader
    ) throws -> String? {
        // Request keys first: the gateway repeats the identical request, even if the bag has changed meanwhile.
        for key in keys.filter(isOfRequest) + keys.filter({ !isOfRequest($0) }) {
            let rows = try store.rows(
                """
                SELECT checkoutKeys.request, checkouts.* FROM checkoutKeys JOIN checkouts ON id = checkoutId
                WHERE checkoutKeys.customerId = ? AND key = ?
                """, [.text(customerId), .text(key)])
            guard let row = rows.first else { continue }
            if !isOfRequest(key) {
                guard try !isReleased(row) else { continue }
                try requireSame(request, as: row, of: customerId, in: store)
            }
            return try row.text("id")
        }
        return nil
    }

    /// The checkout for which the client last used its key, and the order's fields in that request.
    static func checkout(
        ofClient key: String, _ customerId: String, in store: ObjectReader
    ) throws -> (id: String, orderFields: JSON)? {
        let rows = try store.rows(
            """
            SELECT id, orderFields FROM checkoutKeys JOIN checkouts ON id = checkoutId
            WHERE checkoutKeys.customerId = ? AND key = ?
            """, [.text(customerId), .text("client:\(key)")])
        return try rows.first.map { (try $0.text("id"), try JSON(parsing: $0.text("orderFields"))) }
    }

    /// The client's key of a checkout whose customer has to confirm the charge; nil for any other checkout.
    static func waiting(
        _ checkoutId: String, of customerId: String, in store: ObjectReader
    ) throws -> String? {
        let keys = try store.rows(
            """
            SELECT key FROM checkoutKeys JOIN checkouts ON id = checkoutId
            WHERE checkoutKeys.customerId = ? AND checkoutId = ? AND actionSince IS NOT NULL ORDER BY key
            """, [.text(customerId), .text(checkoutId)]
        ).map { try $0.text("key") }
        return keys.first { !isOfRequest($0) }.map { String($0.dropFirst("client:".count)) }
    }

    /// Stores the keys of a request that leads to a checkout.
    /// - Parameter isDecided: the checkout has already finished. A repeated request then finds it by its order, so the
    ///   request key is not stored.
    static func keep(
        _ keys: [String], of customerId: String, _ request: CheckoutRequest, for checkoutId: String, isDecided: Bool,
        in transaction: StoreTransaction
    ) throws {
        for key in keys where !isDecided || !isOfRequest(key) {
            _ = try transaction.execute(
                """
                INSERT INTO checkoutKeys(customerId, key, checkoutId, request, requestedAt) VALUES (?, ?, ?, ?, ?)
                ON CONFLICT(customerId, key) DO UPDATE SET checkoutId = excluded.checkoutId,
                request = excluded.request, requestedAt = excluded.requestedAt
                """,
                [
                    .text(customerId), .text(key), .text(checkoutId), .text(request.fingerprint),
                    isOfRequest(key) ? .int(transaction.now.milliseconds) : .null,
                ])
        }
    }

    private static func isOfRequest(_ key: String) -> Bool { key.hasPrefix("request:") }

    /// Whether the client may use the key of this checkout again.
    private static func isReleased(_ row: SQLRow) throws -> Bool {
        guard try row.text("state") == "failed", case .failure(let error) = try CheckoutRecord.outcome(row) else {
            return false
        }
        return error.code == .validationError
    }

    private static func requireSame(
        _ request: CheckoutRequest, as row: SQLRow, of customerId: String, in store: ObjectReader
    ) throws {
        // Keys of earlier releases have no fingerprint.
        guard try row["request"].textValue ?? request.fingerprint == request.fingerprint,
            try request.orderId ?? row.text("orderId") == row.text("orderId")
        else {
            throw refusal("This idempotency key was used for another request; use a new key for this one.", row)
        }
        // A request that names its order refers to that order, whatever the bag contains.
        guard request.orderId == nil, let open = try OpenOrder.find(for: customerId, in: store), !open.items.isEmpty,
            try open.objectId != row.text("orderId") || lines(of: open) != lines(of: row)
                || request.discountCode == nil && open.discountCode != discountCode(of: row)
        else { return }
        throw refusal(
            """
            This idempotency key was used for another bag. Use a new key to order the current bag.
            """, row)
    }

    /// Quantities by line.
    private static func lines(of order: OpenOrder) -> [String: Int] {
        Dictionary(order.items.map { ($0.objectId, $0.quantity) }, uniquingKeysWith: +)
    }

    private static func lines(of row: SQLRow) throws -> [String: Int] {
        let lines = try JSON(parsing: Array(row.text("lines").utf8)).arrayValue ?? []
        return Dictionary(
            try lines.map { try Checkout.Line(json: $0) }.map { ($0.itemId, $0.quantity) }, uniquingKeysWith: +)
    }

    private static func discountCode(of row: SQLRow) throws -> String? {
        try row["discount"].textValue.map(DiscountTerms.init(text:))?.code
    }

    /// The error includes the order for which the key was used, so that an app can show it.
    private static func refusal(_ text: String, _ row: SQLRow) -> ParseError {
        var details: [String: JSON] = [:]
        details["orderId"] = (try? row.text("orderId")).map(JSON.string)
        details["orderNo"] = (try? row["orderNo"].intValue).map(JSON.int)
        return ParseError(.validationError, text, details: .object(details))
    }
}
