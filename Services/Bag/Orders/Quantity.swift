import ParseProtocol

/// The bounds of a line's quantity, in pieces of the product.
package enum Quantity {
    /// Bags are for private customers; four digits indicate a typing error.
    package static let max = 999

    /// A quantity sent by a client.
    /// - Throws: `.validationError` (142) for anything other than a whole number in `allowed`.
    package static func parse(_ value: JSON?, in allowed: ClosedRange<Int>, whenMissing: Int? = nil) throws -> Int {
        if value == nil || value == .null, let whenMissing { return whenMissing }
        guard let number = value?.intValue, let quantity = Int(exactly: number), allowed.contains(quantity) else {
            throw outside(allowed)
        }
        return quantity
    }

    /// The quantity of a line after a client's change, which may be an `Increment`.
    /// - Throws: `.validationError` (142) when the result is not 0 to 999.
    package static func changed(_ present: Int, by change: JSON) throws -> Int {
        guard let operation = change["__op"] else { return try parse(change, in: 0...max) }
        guard operation == "Increment", let amount = change["amount"]?.intValue, (-1000...1000).contains(amount) else {
            throw outside(0...max)
        }
        return try parse(.int(Int64(present) + amount), in: 0...max)
    }

    private static func outside(_ allowed: ClosedRange<Int>) -> ParseError {
        ParseError(
            .validationError, "quantity must be a whole number from \(allowed.lowerBound) to \(allowed.upperBound).")
    }
}
