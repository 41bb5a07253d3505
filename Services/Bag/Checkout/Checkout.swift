import ParseProtocol

/// One attempt to pay an order, with the order's state at the start of the attempt. The order's bag is frozen until the
/// attempt ends.
package struct Checkout: Sendable, Equatable {
    /// Identifies the attempt in every service: the catalog's reservation id and the operation id in payments.
    package let id: String
    package let orderId: String
    package let customerId: String
    package let lines: [Line]
    /// The total that the client expects, in minor units. Used for comparison only.
    package let expectedAmount: Int64?
    package let source: PaymentSource
    /// Empty: no confirmation mail is sent.
    package let email: String
    /// The terms of the discount code; nil without a code.
    package let discount: DiscountTerms?
    /// The fields that the placed order gets: `shippingAddress`, and `note` and `giftMessage` when the client sent
    /// them.
    package let orderFields: JSON
    /// The client can have the customer confirm the charge with the bank (3-D Secure).
    package let allowsAction: Bool

    package init(
        id: String, orderId: String, customerId: String, lines: [Line], expectedAmount: Int64?, source: PaymentSource,
        email: String, discount: DiscountTerms? = nil, orderFields: JSON = [:], allowsAction: Bool = false
    ) {
        self.allowsAction = allowsAction
        self.id = id
        self.orderId = orderId
        self.customerId = customerId
        self.lines = lines
        self.expectedAmount = expectedAmount
        self.source = source
        self.email = email
        self.discount = discount
        self.orderFields = orderFields
    }

    package struct Line: Sendable, Equatable {
        package let itemId: String
        package let productId: String
        /// 1 to 999.
        package let quantity: Int

        package init(itemId: String, productId: String, quantity: Int) {
            self.itemId = itemId
            self.productId = productId
            self.quantity = quantity
        }
    }
}

/// The payment source. The payments service checks that it belongs to the customer.
package enum PaymentSource: Sendable, Equatable {
    case paymentMethod(String)
    case customer(String)
    case token(String)
    /// No source: an order that costs nothing needs none, and a finished checkout drops its source.
    case nothing
}

/// A checkout's lines with the prices that the catalog fixed for it.
package struct PricedOrder: Sendable, Equatable {
    package struct Line: Sendable, Equatable {
        package let itemId: String
        package let productId: String
        package let name: String
        package let quantity: Int
        package let unitPriceMinorUnits: Int64
        /// The line's part of the discount; 0 to the line's price.
        package internal(set) var discountMinorUnits: Int64 = 0

        /// Before the discount.
        package var totalMinorUnits: Int64 { Int64(quantity) * unitPriceMinorUnits }
        /// After the discount.
        package var paidMinorUnits: Int64 { totalMinorUnits - discountMinorUnits }

        /// The price paid for the next `pieces` after the first `before` ones. The parts of a line add up to
        /// `paidMinorUnits`.
        package func paid(for pieces: Int, after before: Int) -> Int64 {
            func first(_ count: Int) -> Int64 { paidMinorUnits * Int64(count) / Int64(max(1, quantity)) }
            return first(before + pieces) - first(before)
        }
    }

    package internal(set) var lines: [Line]
    package let currency: String
    package internal(set) var discountCode: String?

    package var subtotalMinorUnits: Int64 { lines.reduce(0) { $0 + $1.totalMinorUnits } }
    package var discountMinorUnits: Int64 { lines.reduce(0) { $0 + $1.discountMinorUnits } }
    /// What the customer pays.
    package var totalMinorUnits: Int64 { lines.reduce(0) { $0 + $1.paidMinorUnits } }

    /// Distributes a discount over the lines.
    /// - Throws: `.validationError` (142) when the terms are not met.
    mutating func apply(_ discount: DiscountTerms) throws(ParseError) {
        let shares = try discount.shares(
            of: lines.map { .init(productId: $0.productId, minorUnits: $0.totalMinorUnits) })
        for (index, share) in shares.enumerated() { lines[index].discountMinorUnits = share }
        discountCode = discount.code
    }
}

/// The catalog's reservation, by product.
package struct Reservation: Sendable, Equatable {
    package struct Product: Sendable, Equatable {
        package let name: String
        /// 0 to 10^9.
        package let unitPriceMinorUnits: Int64

        package init(name: String, unitPriceMinorUnits: Int64) {
            self.name = name
            self.unitPriceMinorUnits = unitPriceMinorUnits
        }
    }

    package let products: [String: Product]
    package let currency: String

    package init(products: [String: Product], currency: String) {
        self.products = products
        self.currency = currency
    }
}

/// The stored state of a checkout. Each state is stored before the next step runs. The exception is `charged`, which is
/// stored together with the next step, the placed order (`CheckoutMachine`).
package enum CheckoutState: Sendable, Equatable {
    /// Stored; no step has run.
    case started
    /// Stock is reserved and prices are fixed.
    case reserved(PricedOrder)
    /// The customer has been charged; `chargeId` is the provider's id.
    case charged(PricedOrder, chargeId: String)
    /// Final: the order is placed, or the checkout failed with a reason. Every repeated request gets the same reply,
    /// byte for byte.
    case decided(CheckoutOutcome)
}

/// The answer to a client that waits for a checkout.
package enum CheckoutAnswer: Sendable, Equatable {
    case decided(CheckoutOutcome)
    /// The customer has to confirm the charge. The secret is for the customer alone.
    case needsConfirmation(orderId: String, clientSecret: String)
}

/// The receipt as JSON text, or the error for the client.
package typealias CheckoutOutcome = Result<[UInt8], ParseError>
