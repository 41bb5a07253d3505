import Foundation
import ParseProtocol
import ProcessKit

/// The values of the order templates, from the receipt that the bag sends.
struct OrderMail {
    let values: [String: Any]

    /// - Parameters:
    ///   - model: `orderNo`, `totalMinorUnits`, `currency` and `items`; optional `orderDate`, `subtotalMinorUnits`,
    ///     `discountMinorUnits`, `discountCode`, `shippingAddress`, `note`, `giftMessage`, `carrier`,
    ///     `trackingNumber`, `trackingUrl`, `isTrackingCorrected`, `reason` and `refundedMinorUnits`. Nil for anything
    ///     else.
    ///   - zone: the shop's, for dates.
    init?(_ model: JSON, _ language: ShopLanguage, in zone: ShopZone) {
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
                "unitPrice": Money.text(minorUnits: unitPrice, currency: currency, in: language),
                "lineTotal": Money.text(minorUnits: lineTotal, currency: currency, in: language),
            ])
        }
        let address = Self.address(model["shippingAddress"] ?? [:])
        var values: [String: Any] = [
            "orderNo": String(number), "items": lines,
            "total": Money.text(minorUnits: total, currency: currency, in: language),
            "address": address.map { ["line": $0] }, "hasAddress": !address.isEmpty, "isOrder": true,
        ]
        if let discount = model["discountMinorUnits"]?.intValue, discount > 0 {
            values["discount"] = Money.text(minorUnits: -discount, currency: currency, in: language)
            values["subtotal"] = Money.text(
                minorUnits: model["subtotalMinorUnits"]?.intValue ?? total + discount, currency: currency,
                in: language)
            values["discountCode"] = HeaderText.singleLine(model["discountCode"]?.stringValue ?? "")
        }
        if let date = model["orderDate"]?["iso"]?.stringValue.flatMap(Timestamp.init(iso:)) {
            values["date"] = language.date(zone.date(of: date))
        }
        for name in ["note", "giftMessage"] {
            let lines = CustomerText.note(model[name]?.stringValue ?? "")
            // The installed templates use `noteLines`, to quote each line. `note` exists for operators' templates.
            guard !lines.isEmpty else { continue }
            values[name] = lines.joined(separator: "\n")
            values["\(name)Lines"] = lines.map { ["line": $0] }
        }
        let reason = CustomerText.note(model["reason"]?.stringValue ?? "").joined(separator: "\n")
        if !reason.isEmpty { values["reason"] = reason }
        for name in ["carrier", "trackingNumber"] {
            let text = HeaderText.singleLine(model[name]?.stringValue ?? "")
            if !text.isEmpty { values[name] = text }
        }
        values["isTrackingCorrected"] = model["isTrackingCorrected"]?.boolValue == true
        // An invalid link is left out: a typing error should not delay the customer's mail.
        if let link = model["trackingUrl"]?.stringValue.flatMap(WebLink.init) { values["trackingUrl"] = link.url }
        if let refunded = model["refundedMinorUnits"]?.intValue, refunded > 0 {
            values["refunded"] = Money.text(minorUnits: refunded, currency: currency, in: language)
        }
        self.values = values
    }

    /// The lines of a postal address: "Austin, TX 73301" with a state of a few capitals, otherwise "10115 Berlin".
    private static func address(_ address: JSON) -> [String] {
        func text(_ name: String) -> String { CustomerText.line(address[name]?.stringValue ?? "") }
        let (city, state, zipcode) = (text("city"), text("state"), text("zipcode"))
        let hasStateCode =
            !city.isEmpty && (2...3).contains(state.utf8.count) && state.utf8.allSatisfy { (65...90).contains($0) }
        let lines = [
            [text("firstName"), text("lastName")], [text("address1")], [text("address2")],
            hasStateCode ? [city + ",", state, zipcode] : [zipcode, city, state], [text("phone")],
        ]
        return lines.map { parts in parts.filter { !$0.isEmpty }.joined(separator: " ") }.filter { !$0.isEmpty }
    }
}
