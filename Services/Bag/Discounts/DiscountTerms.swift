import ParseProtocol

/// What a discount code takes off a bag. A checkout stores its terms when it begins, so a later change of the code does
/// not change them. No I/O; whole minor units only.
package struct DiscountTerms: Sendable, Equatable {
    package enum Value: Sendable, Equatable {
        /// 1 to 100.
        case percent(Int64)
        /// In minor units, from 1.
        case amount(Int64)
    }

    /// A line of a bag with its price before the discount.
    package struct Line: Sendable {
        package let productId: String
        /// Not negative.
        package let minorUnits: Int64

        package init(productId: String, minorUnits: Int64) {
            self.productId = productId
            self.minorUnits = minorUnits
        }
    }

    package let code: String
    package let value: Value
    /// What all lines together must cost.
    package let minimumMinorUnits: Int64
    /// The products that it applies to; nil for all.
    package let products: Set<String>?

    package init(code: String, value: Value, minimumMinorUnits: Int64 = 0, products: Set<String>? = nil) {
        self.code = code
        self.value = value
        self.minimumMinorUnits = minimumMinorUnits
        self.products = products
    }

    /// The discount of each line; their sum is the discount.
    /// - Throws: `.validationError` (142) when the bag costs less than the minimum, or when no product that costs
    ///   something gets the discount.
    package func shares(of lines: [Line]) throws(ParseError) -> [Int64] {
        let subtotal = lines.reduce(0) { $0 + $1.minorUnits }
        guard subtotal >= minimumMinorUnits else {
            throw DiscountProblem.minimumNotReached.error(code, minimumMinorUnits: minimumMinorUnits)
        }
        let eligible = lines.map { products?.contains($0.productId) == false ? 0 : $0.minorUnits }
        let sum = eligible.reduce(0, +)
        guard sum > 0 else { throw DiscountProblem.notApplicable.error(code) }
        return Self.distribute(amount(of: sum), over: eligible)
    }

    /// A percentage is rounded once, half up. An amount never exceeds what the lines cost.
    private func amount(of sum: Int64) -> Int64 {
        switch value {
        // No overflow: the sum of a bag is below 2 * 10^14 (`Price.minorUnitsMax`).
        case .percent(let percent): (sum * percent + 50) / 100
        case .amount(let amount): min(amount, sum)
        }
    }

    /// Divides an amount in proportion to the weights, by largest remainder. No part exceeds its weight.
    /// - Parameters:
    ///   - amount: 0 to the sum of the weights.
    ///   - weights: not negative.
    package static func distribute(_ amount: Int64, over weights: [Int64]) -> [Int64] {
        let sum = weights.reduce(0, +)
        guard sum > 0 else { return weights.map { _ in 0 } }
        let parts = weights.map { sum.dividingFullWidth(amount.multipliedFullWidth(by: $0)) }
        var shares = parts.map { $0.quotient }
        let byRemainder = parts.indices.sorted {
            parts[$0].remainder == parts[$1].remainder ? $0 < $1 : parts[$0].remainder > parts[$1].remainder
        }
        for index in byRemainder.prefix(Int(amount - shares.reduce(0, +))) { shares[index] += 1 }
        return shares
    }
}

extension DiscountTerms {
    var json: JSON {
        var json: JSON = ["discountCode": .string(code), "minimumMinorUnits": .int(minimumMinorUnits)]
        switch value {
        case .percent(let percent): json["percent"] = .int(percent)
        case .amount(let amount): json["amountMinorUnits"] = .int(amount)
        }
        json["products"] = products.map { .array($0.sorted().map(JSON.string)) }
        return json
    }

    /// From the column `checkouts.discount`.
    init(text: String) throws {
        let json = try JSON(parsing: text)
        guard let code = json["discountCode"]?.stringValue, let minimum = json["minimumMinorUnits"]?.intValue,
            let value = json["percent"]?.intValue.map(Value.percent)
                ?? json["amountMinorUnits"]?.intValue.map(Value.amount)
        else { throw ParseError.internalError }
        self.init(
            code: code, value: value, minimumMinorUnits: minimum,
            products: json["products"]?.arrayValue.map { Set($0.compactMap(\.stringValue)) })
    }
}

/// Why a discount code cannot be used.
package enum DiscountProblem: String, Sendable {
    case unknown = "discount_unknown"
    case inactive = "discount_inactive"
    case notYetValid = "discount_not_yet_valid"
    case expired = "discount_expired"
    case exhausted = "discount_exhausted"
    case alreadyUsed = "discount_already_used"
    case minimumNotReached = "discount_minimum_not_reached"
    case notApplicable = "discount_not_applicable"

    /// `.validationError` (142); `details.code` names the problem.
    package func error(_ code: String, minimumMinorUnits: Int64? = nil) -> ParseError {
        let text =
            switch self {
            case .unknown: "There is no discount code \(code)."
            case .inactive: "The discount code \(code) is not active."
            case .notYetValid: "The discount code \(code) is not valid yet."
            case .expired: "The discount code \(code) has expired."
            case .exhausted: "The discount code \(code) is used up."
            case .alreadyUsed: "You have already used the discount code \(code)."
            case .minimumNotReached: "The bag does not reach the minimum of the discount code \(code)."
            case .notApplicable: "The discount code \(code) applies to no product in the bag."
            }
        var details: JSON = ["code": .string(rawValue), "discountCode": .string(code)]
        details["minimumMinorUnits"] = minimumMinorUnits.map(JSON.int)
        return ParseError(.validationError, text, details: details)
    }
}
