import Foundation
import ParseProtocol

/// The values of the template `order-confirmation`, from the receipt that the bag sends.
struct OrderConfirmation {
    let values: [String: Any]

    /// Nil for a model that is not a receipt.
    init?(_ model: JSON) {
        guard let number = model["orderNo"]?.intValue, let total = model["totalMinorUnits"]?.intValue,
            let currency = model["currency"]?.stringValue, let items = model["items"]?.arrayValue
        else { return nil }
        var lines: [[String: Any]] = []
        for item in items {
            guard let name = item["name"]?.stringValue, let quantity = item["quantity"]?.intValue,
                let unitPrice = item["unitPriceMinorUnits"]?.intValue,
                let lineTotal = item["lineTotalMinorUnits"]?.intValue
            else { return nil }
            lines.append([
                "name": HeaderText.singleLine(name), "quantity": String(quantity),
                "unitPrice": Money.text(minorUnits: unitPrice, currency: currency),
                "lineTotal": Money.text(minorUnits: lineTotal, currency: currency),
            ])
        }
        var values: [String: Any] = [
            "orderNo": String(number), "items": lines, "total": Money.text(minorUnits: total, currency: currency),
            "address": Self.address(model["shippingAddress"] ?? [:]).map { ["line": $0] },
        ]
        if let date = model["orderDate"]?["iso"]?.stringValue { values["date"] = String(date.prefix(10)) }
        for name in ["note", "giftMessage"] {
            if let text = model[name]?.stringValue, !text.isEmpty { values[name] = text }
        }
        self.values = values
    }

    /// The lines of an envelope.
    private static func address(_ address: JSON) -> [String] {
        let lines = [["firstName", "lastName"], ["address1"], ["address2"], ["zipcode", "city", "state"], ["phone"]]
        return lines.map { names in
            names.compactMap { address[$0]?.stringValue }.map(HeaderText.singleLine).filter { !$0.isEmpty }
                .joined(separator: " ")
        }.filter { !$0.isEmpty }
    }
}
