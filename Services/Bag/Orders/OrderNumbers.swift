import ObjectStore
import ParseProtocol

/// Order numbers: 1000001 and up, each used once, also beside imported orders with their own numbers.
enum OrderNumbers {
    /// The largest number that an import may bring. This leaves 7 * 10^12 numbers below 2^53, the limit of exact
    /// integers in clients.
    static let importedMax: Int64 = 9_000_000_000_000_000

    /// Records the number of an order that was saved with one. Assigned numbers continue above it.
    /// - Throws: `.validationError` (142) for a number that is not 0 to `importedMax`.
    static func recordImported(_ number: JSON, in transaction: StoreTransaction) throws {
        guard let orderNo = number.intValue, (0...importedMax).contains(orderNo) else {
            throw ParseError(.validationError, "orderNo must be a whole number from 0 to \(importedMax).")
        }
        try raise(to: orderNo, in: transaction)
    }

    /// Runs `save` with the next number. If an order already has that number, uses the largest existing number plus
    /// one. If the store refuses `save`, nothing has changed: `Order` defines every field, so no field is added first.
    static func assign<Saved>(in transaction: StoreTransaction, _ save: (Int64) throws -> Saved) throws -> Saved {
        let orderNo = try next(in: transaction)
        do {
            return try transaction.atOnce { try save(orderNo) }
        } catch let error as ParseError where error.code == .duplicateValue {
            let taken = Query(
                className: "Order", where: ["orderNo": ["$gte": .int(orderNo), "$lte": .int(importedMax)]],
                order: ["-orderNo"], limit: 1)
            guard let largest = try transaction.documents(taken, caller: .master).first?["orderNo"]?.intValue else {
                throw error
            }
            try raise(to: largest, in: transaction)
            return try save(try next(in: transaction))
        }
    }

    private static func next(in transaction: StoreTransaction) throws -> Int64 {
        let numbers = try transaction.rows(
            "UPDATE counters SET value = value + 1 WHERE name = 'orderNo' RETURNING value", [])
        guard let orderNo = try numbers.first?["value"].intValue else { throw ParseError.internalError }
        return orderNo
    }

    /// The last number that this database assigned or recorded.
    static func last(in store: ObjectReader) throws -> Int64 {
        guard let row = try store.rows("SELECT value FROM counters WHERE name = 'orderNo'", []).first else {
            throw ParseError.internalError
        }
        return try row.int("value")
    }

    static func raise(to orderNo: Int64, in transaction: StoreTransaction) throws {
        _ = try transaction.execute(
            "UPDATE counters SET value = ?1 WHERE name = 'orderNo' AND value < ?1", [.int(orderNo)])
    }
}
