import ObjectStore
import ParseProtocol

/// The numbers of orders: 1000001 and up, each used once, also beside orders that were imported with numbers of their
/// own.
enum OrderNumbers {
    /// The largest number an import may bring. Below 2^53, to which clients count exactly, there is room for 7 * 10^12
    /// more.
    static let importedMax: Int64 = 9_000_000_000_000_000

    /// An order was saved with a number of somebody else's choice: ours go on above it.
    /// - Throws: `.validationError` (142) for a number that is not 0 to `importedMax`.
    static func note(_ number: JSON, in transaction: StoreTransaction) throws {
        guard let orderNo = number.intValue, (0...importedMax).contains(orderNo) else {
            throw ParseError(.validationError, "orderNo must be a whole number from 0 to \(importedMax).")
        }
        try raise(to: orderNo, in: transaction)
    }

    /// Runs `save` with the next number. Should an order have it already, with the one after the largest there is.
    static func assign<Saved>(in transaction: StoreTransaction, _ save: (Int64) throws -> Saved) throws -> Saved {
        let orderNo = try next(in: transaction)
        do {
            return try transaction.nested { try save(orderNo) }
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

    /// The last number that this file gave out or heard of.
    static func last(in store: some ObjectReading) throws -> Int64 {
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
