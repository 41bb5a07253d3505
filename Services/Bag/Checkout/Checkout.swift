import ParseProtocol

/// One attempt to pay an order, as it was when the attempt began. While it runs the order's bag is frozen.
package struct Checkout: Sendable, Equatable {
    /// Names the attempt everywhere: it is the reservation's id at the catalog and the operation's id at payments.
    package let id: String
    package let orderId: String
    package let customerId: String
    package let lines: [Line]
    /// The total that the client expects, in minor units; only compared.
    package let expectedAmount: Int64?
    package let source: PaymentSource
    /// Empty: no confirmation is sent.
    package let email: String
    /// The fields that the order gets when it is made: `shippingAddress`, and `note` and `giftMessage` when they were
    /// sent.
    package let orderFields: JSON

    package init(
        id: String, orderId: String, customerId: String, lines: [Line], expectedAmount: Int64?, source: PaymentSource,
        email: String, orderFields: JSON = [:]
    ) {
        self.id = id
        self.orderId = orderId
        self.customerId = customerId
        self.lines = lines
        self.expectedAmount = expectedAmount
        self.source = source
        self.email = email
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

/// The source of the money. The payments service checks that it is the customer's.
package enum PaymentSource: Sendable, Equatable {
    case paymentMethod(String)
    case customer(String)
    case token(String)
    /// None: an order that costs nothing needs none, and a finished checkout does not keep what it was paid with.
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

        package var totalMinorUnits: Int64 { Int64(quantity) * unitPriceMinorUnits }
    }

    package let lines: [Line]
    package let currency: String

    package var totalMinorUnits: Int64 { lines.reduce(0) { $0 + $1.totalMinorUnits } }
}

/// The catalog's reservation, product by product.
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

/// The point that a checkout has come to. Each is stored before the step after it is taken, but for `charged`, which is
/// stored with that step, the order (`CheckoutMachine`).
package enum RecoveryPoint: Sendable, Equatable {
    /// Known, nothing done.
    case started
    /// Stock is taken and prices are fixed.
    case reserved(PricedOrder)
    /// The money is taken; `chargeId` is the provider's id.
    case charged(PricedOrder, chargeId: String)
    /// The end: the order is made, or the reason why it is not. The reply is what every repetition gets, byte for byte.
    case decided(CheckoutOutcome)
}

/// The receipt as JSON text, or what the client is told.
package typealias CheckoutOutcome = Result<[UInt8], ParseError>
