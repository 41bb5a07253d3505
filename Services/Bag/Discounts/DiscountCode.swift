import ParseProtocol
import ServiceKit

/// A discount code as an operator defines it.
package struct DiscountCode: Sendable, Equatable {
    /// In upper case.
    package let code: String
    let value: DiscountTerms.Value
    let minimumMinorUnits: Int64
    /// The first moment at which it is valid.
    let from: Timestamp?
    /// The first moment at which it is no longer valid.
    let until: Timestamp?
    /// The brand or the product that it applies to. At most one is set; neither means the whole bag.
    let brandId: String?
    let productId: String?
    let usesMax: Int64?
    let usesPerCustomerMax: Int64?
    let isActive: Bool

    /// The members of a definition, which are the parameters of `createDiscountCode`.
    static let names: Set<String> = [
        "discountCode", "percent", "amountMinorUnits", "minimumMinorUnits", "from", "until", "brandId", "productId",
        "usesMax", "usesPerCustomerMax", "active",
    ]

    private static let lengths = 3...40
    /// Uses are counted in the checkout's transaction.
    private static let countable: ClosedRange<Int64> = 1...100_000

    /// From the parameters of a function, or as stored.
    /// - Throws: `.validationError` (142) for an invalid definition.
    package init(_ definition: JSON) throws {
        func number(_ name: String, _ allowed: ClosedRange<Int64>) throws -> Int64? {
            guard let value = definition[name], !value.isNull else { return nil }
            guard let number = value.intValue, allowed.contains(number) else {
                throw Self.invalid(
                    "\(name) must be a whole number from \(allowed.lowerBound) to \(allowed.upperBound).")
            }
            return number
        }
        func objectId(_ name: String) throws -> String? {
            guard let value = definition[name], !value.isNull else { return nil }
            guard let id = value.stringValue, Names.isObjectId(id) else {
                throw Self.invalid("\(name) must be an objectId.")
            }
            return id
        }
        guard let code = definition["discountCode"]?.stringValue.flatMap(Self.normalized) else {
            throw Self.invalid("discountCode must be 3 to 40 of the characters A-Z, 0-9, - and _.")
        }
        self.code = code
        switch (try number("percent", 1...100), try number("amountMinorUnits", Price.chargeable)) {
        case (let percent?, nil): value = .percent(percent)
        case (nil, let amount?): value = .amount(amount)
        default: throw Self.invalid("Either percent or amountMinorUnits is needed.")
        }
        minimumMinorUnits = try number("minimumMinorUnits", 0...Price.chargeable.upperBound) ?? 0
        from = try definition.momentParameter("from")
        until = try definition.momentParameter("until")
        if let from, let until, from >= until { throw Self.invalid("until must be later than from.") }
        brandId = try objectId("brandId")
        productId = try objectId("productId")
        if brandId != nil, productId != nil { throw Self.invalid("Only one of brandId and productId is allowed.") }
        usesMax = try number("usesMax", Self.countable)
        usesPerCustomerMax = try number("usesPerCustomerMax", Self.countable)
        let active = definition["active"] ?? true
        guard let isActive = active.isNull ? true : active.boolValue else {
            throw Self.invalid("active must be true or false.")
        }
        self.isActive = isActive
    }

    /// The text in the form in which codes are stored; nil for a text that no code has.
    static func normalized(_ text: String) -> String? {
        let isCode = text.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"):
                true
            default: false
            }
        }
        return isCode && lengths.contains(text.utf8.count) ? text.uppercased() : nil
    }

    /// The definition with the changes of `updateDiscountCode`; null removes a member.
    /// - Throws: `.validationError` (142) when the result is invalid.
    func changed(by changes: JSON) throws -> DiscountCode {
        var definition = json
        for (name, value) in changes.objectValue ?? [:] where name != "discountCode" {
            definition[name] = value.isNull ? nil : value
        }
        return try DiscountCode(definition)
    }

    package var json: JSON {
        var json: JSON = [
            "discountCode": .string(code), "minimumMinorUnits": .int(minimumMinorUnits), "active": .bool(isActive),
        ]
        switch value {
        case .percent(let percent): json["percent"] = .int(percent)
        case .amount(let amount): json["amountMinorUnits"] = .int(amount)
        }
        json["from"] = from?.wire
        json["until"] = until?.wire
        json["brandId"] = brandId.map(JSON.string)
        json["productId"] = productId.map(JSON.string)
        json["usesMax"] = usesMax.map(JSON.int)
        json["usesPerCustomerMax"] = usesPerCustomerMax.map(JSON.int)
        return json
    }

    /// - Throws: `.validationError` (142) when it is not valid at this time.
    package func requireValid(at now: Timestamp) throws(ParseError) {
        guard isActive else { throw DiscountProblem.inactive.error(code) }
        if let from, now < from { throw DiscountProblem.notYetValid.error(code) }
        if let until, now >= until { throw DiscountProblem.expired.error(code) }
    }

    /// - Parameter prices: the prices and brands of the products in the bag.
    package func terms(_ prices: Prices) -> DiscountTerms {
        let products =
            productId.map { Set([$0]) } ?? brandId.map { brand in Set(prices.brands.filter { $0.value == brand }.keys) }
        return DiscountTerms(
            code: code, value: value, minimumMinorUnits: minimumMinorUnits, products: products)
    }

    private static func invalid(_ text: String) -> ParseError { ParseError(.validationError, text) }
}
