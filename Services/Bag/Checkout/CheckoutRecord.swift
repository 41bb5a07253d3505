import ObjectStore
import ParseProtocol

/// A checkout as a row of the table `checkouts`.
struct CheckoutRecord {
    let checkout: Checkout
    let state: CheckoutState
    /// Time since the checkout began, by the wall clock.
    var age = Duration.zero
    /// The customer has to confirm the charge.
    var awaitsConfirmation = false
    /// The customer's account was deleted while the checkout ran.
    var isCustomerDeleted = false

    /// Whether payments may have been asked for the charge.
    var mayBeCharged: Bool {
        switch state {
        case .reserved(let order): order.totalMinorUnits > 0
        case .charged(_, let chargeId): !chargeId.isEmpty
        case .started, .decided: false
        }
    }

    /// A new checkout.
    init(_ checkout: Checkout) {
        self.checkout = checkout
        state = .started
    }

    /// - Throws: `ParseError.internalError` for a row that this version did not write.
    init(_ row: SQLRow) throws {
        let lines = try JSON(parsing: row.text("lines")).arrayValue ?? []
        let source = try JSON(parsing: row.text("source"))
        checkout = try Checkout(
            id: row.text("id"), orderId: row.text("orderId"), customerId: row.text("customerId"),
            lines: try lines.map(Checkout.Line.init(json:)), expectedAmount: row["expectedAmount"].intValue,
            source: PaymentSource(json: source), email: row.text("email"),
            discount: row["discount"].textValue.map(DiscountTerms.init(text:)),
            orderFields: try JSON(parsing: row.text("orderFields")), allowsAction: row.int("allowsAction") == 1)
        awaitsConfirmation = try row["actionSince"].intValue != nil
        state =
            switch try row.text("state") {
            case "started": .started
            case "reserved": .reserved(try PricedOrder(text: row.text("priced")))
            case "charged": .charged(try PricedOrder(text: row.text("priced")), chargeId: try row.text("chargeId"))
            case "made", "failed": .decided(try Self.outcome(row))
            default: throw ParseError.internalError
            }
        age = .milliseconds(try Timestamp.now.milliseconds - row.int("createdAt"))
    }

    /// The stored reply of a finished checkout.
    static func outcome(_ row: SQLRow) throws -> CheckoutOutcome {
        let reply = try row.blob("reply")
        guard try row.text("state") != "made" else { return .success(reply) }
        let failure = try JSON(parsing: reply)
        // Deleting the account removes the replies of its checkouts.
        guard failure != [:] else { return .failure(AccountDeletion.refusal) }
        guard let code = failure["code"]?.intValue, let message = failure["error"]?.stringValue else {
            throw ParseError.internalError
        }
        return .failure(ParseError(.init(rawValue: Int(code)), message, details: failure["details"]))
    }
}

extension CheckoutState {
    /// The condition of running checkouts, equal to that of two partial indexes. It excludes the two other states: for
    /// a list of three states SQLite would fill a temporary table in each statement that changes a checkout.
    package static let runningCondition = "state NOT IN ('made', 'failed')"

    /// The value of the column `state`.
    var name: String {
        switch self {
        case .started: "started"
        case .reserved: "reserved"
        case .charged: "charged"
        case .decided(.success): "made"
        case .decided(.failure): "failed"
        }
    }
}

extension Checkout.Line {
    var json: JSON {
        ["itemId": .string(itemId), "productId": .string(productId), "quantity": .int(Int64(quantity))]
    }

    init(json: JSON) throws {
        guard let itemId = json["itemId"]?.stringValue, let productId = json["productId"]?.stringValue,
            let quantity = json["quantity"]?.intValue
        else { throw ParseError.internalError }
        self.init(itemId: itemId, productId: productId, quantity: Int(quantity))
    }
}

extension PaymentSource {
    var json: JSON {
        switch self {
        case .paymentMethod(let id): ["paymentMethod": .string(id)]
        case .customer(let id): ["customer": .string(id)]
        case .token(let token): ["token": .string(token)]
        case .nothing: [:]
        }
    }

    init(json: JSON) {
        if let id = json["paymentMethod"]?.stringValue {
            self = .paymentMethod(id)
        } else if let id = json["customer"]?.stringValue {
            self = .customer(id)
        } else if let token = json["token"]?.stringValue {
            self = .token(token)
        } else {
            self = .nothing
        }
    }
}

extension PricedOrder {
    var text: String {
        var members: JSON = [
            "currency": .string(currency),
            "lines": .array(
                lines.map { line in
                    var item: JSON = [
                        "itemId": .string(line.itemId), "productId": .string(line.productId),
                        "name": .string(line.name), "quantity": .int(Int64(line.quantity)),
                        "unitPriceMinorUnits": .int(line.unitPriceMinorUnits),
                    ]
                    if line.discountMinorUnits > 0 { item["discountMinorUnits"] = .int(line.discountMinorUnits) }
                    return item
                }),
        ]
        members["discountCode"] = discountCode.map(JSON.string)
        return members.serializedText
    }

    init(text: String) throws {
        let json = try JSON(parsing: text)
        guard let currency = json["currency"]?.stringValue, let lines = json["lines"]?.arrayValue else {
            throw ParseError.internalError
        }
        self.currency = currency
        discountCode = json["discountCode"]?.stringValue
        self.lines = try lines.map { line in
            guard let unitPrice = line["unitPriceMinorUnits"]?.intValue else { throw ParseError.internalError }
            let plain = try Checkout.Line(json: line)
            return Line(
                itemId: plain.itemId, productId: plain.productId, name: line["name"]?.stringValue ?? "",
                quantity: plain.quantity, unitPriceMinorUnits: unitPrice,
                discountMinorUnits: line["discountMinorUnits"]?.intValue ?? 0)
        }
    }
}
