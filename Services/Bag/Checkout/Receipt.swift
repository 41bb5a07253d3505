import ParseProtocol

/// The receipt of a placed order: the function's answer and the content of the mail.
struct Receipt {
    /// The order as stored now.
    let order: JSON
    let priced: PricedOrder
    let json: JSON

    init(order: JSON, priced: PricedOrder) {
        self.order = order
        self.priced = priced
        json = Self.json(order, priced)
    }

    var customerName: String { (try? ShippingAddress(order["shippingAddress"] ?? [:]).fullName) ?? "" }

    /// 0 for an order without a number, which an import may bring.
    var orderNo: Int64 { order["orderNo"]?.intValue ?? 0 }

    private static func json(_ order: JSON, _ priced: PricedOrder) -> JSON {
        var receipt: JSON = [
            "orderId": order["objectId"] ?? .null, "orderNo": order["orderNo"] ?? .null,
            "orderDate": order["orderDate"] ?? .null, "orderStatus": order["orderStatus"] ?? .null,
            "orderState": order["orderState"] ?? .null,
            "subtotalMinorUnits": .int(priced.subtotalMinorUnits),
            "discountMinorUnits": .int(priced.discountMinorUnits),
            "totalMinorUnits": .int(priced.totalMinorUnits), "currency": .string(priced.currency),
            "stripePaymentId": order["stripePaymentId"] ?? .null, "items": .array(priced.lines.map(item)),
            "shippingAddress": order["shippingAddress"] ?? .null,
        ]
        receipt["discountCode"] = priced.discountCode.map(JSON.string)
        return receipt
    }

    /// The receipt with the customer's own texts, for the template `order-confirmation`.
    var mailModel: JSON {
        var model = json
        for name in ["note", "giftMessage"] { model[name] = order[name] }
        return model
    }

    private static func item(_ line: PricedOrder.Line) -> JSON {
        [
            "productId": .string(line.productId), "name": .string(line.name), "quantity": .int(Int64(line.quantity)),
            "unitPriceMinorUnits": .int(line.unitPriceMinorUnits), "lineTotalMinorUnits": .int(line.totalMinorUnits),
        ]
    }
}
