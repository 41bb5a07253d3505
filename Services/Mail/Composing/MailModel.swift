import ParseProtocol

/// The input of a template: which members the sender's JSON has, and the values made of them.
package enum MailModel: Sendable {
    /// `{"link", "hours", "name"?}`, see `LinkMail`.
    case link
    /// The order's receipt and what happened to it, see `OrderMail`.
    case order

    /// Nil for a model that is not of this kind.
    func values(_ model: JSON) -> [String: Any]? {
        switch self {
        case .link: LinkMail(model)?.values
        case .order: OrderMail(model)?.values
        }
    }

    /// Values with everything that a template may ask for.
    var example: [String: Any] {
        let model: JSON =
            switch self {
            case .link: ["name": "Ann", "link": .string(exampleMustContain), "hours": 24]
            case .order:
                [
                    "orderNo": 1_000_001, "orderDate": ["iso": "2026-01-02T03:04:05.678Z"], "totalMinorUnits": 350,
                    "currency": "usd", "note": "Note", "giftMessage": "Gift", "carrier": "Carrier",
                    "trackingNumber": "T1", "trackingUrl": "https://carrier.example/t1", "reason": "Reason",
                    "refundedMinorUnits": 350, "shippingAddress": ["firstName": "Ann", "city": "Oakland"],
                    "items": [["name": "Comb", "quantity": 1, "unitPriceMinorUnits": 350, "lineTotalMinorUnits": 350]],
                ]
            }
        return (values(model) ?? [:]).merging(["shopName": "Shop", "name": "Ann"]) { $1 }
    }

    /// Without this a mail is of no use.
    var exampleMustContain: String {
        switch self {
        case .link: "https://shop.example/link"
        case .order: "1000001"
        }
    }

    var mustContain: String {
        switch self {
        case .link: "{{link}}"
        case .order: "{{orderNo}}"
        }
    }
}
