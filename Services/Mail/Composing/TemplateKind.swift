import ParseProtocol
import ProcessKit

/// The kind of a template: which JSON a service must send for it, and how it becomes template values.
package enum TemplateKind: Sendable {
    /// `{"link", "hours", "name"?}`, see `LinkMail`.
    case link
    /// The order's receipt and its later changes, see `OrderMail`.
    case order

    /// Nil for a model of another kind.
    func values(_ model: JSON, _ language: ShopLanguage, in zone: ShopZone) -> [String: Any]? {
        switch self {
        case .link: LinkMail(model, language)?.values
        case .order: OrderMail(model, language, in: zone)?.values
        }
    }

    /// Whether a model contains what opens an account.
    var hasSecret: Bool { self == .link }

    /// The model without what opens an account: the form that is stored after sending and shown to operators.
    func withoutSecret(_ model: JSON) -> JSON { hasSecret ? LinkMail.withoutSecret(model) : model }

    /// Values with everything that a template may use.
    func example(_ language: ShopLanguage) -> [String: Any] {
        let model: JSON =
            switch self {
            case .link: ["name": "Ann", "link": .string(requiredText), "hours": 24]
            case .order:
                [
                    "orderNo": 1_000_001, "orderDate": ["iso": "2026-01-02T03:04:05.678Z"], "totalMinorUnits": 350,
                    "subtotalMinorUnits": 400, "discountMinorUnits": 50, "discountCode": "SPRING",
                    "currency": "usd", "note": "Note", "giftMessage": "Gift", "carrier": "Carrier",
                    "trackingNumber": "T1", "trackingUrl": "https://carrier.example/t1", "reason": "Reason",
                    "refundedMinorUnits": 350, "shippingAddress": ["firstName": "Ann", "city": "Oakland"],
                    "items": [["name": "Comb", "quantity": 1, "unitPriceMinorUnits": 350, "lineTotalMinorUnits": 350]],
                ]
            }
        return (values(model, language, in: .utc) ?? [:]).merging(["shopName": "Shop", "name": "Ann"]) { $1 }
    }

    /// The text of the example that every rendered template must contain; without it the mail is useless.
    var requiredText: String {
        switch self {
        case .link: "https://shop.example/link"
        case .order: "1000001"
        }
    }

    /// The Mustache tag that renders `requiredText`, for error texts.
    package var requiredTag: String {
        switch self {
        case .link: "{{link}}"
        case .order: "{{orderNo}}"
        }
    }
}
