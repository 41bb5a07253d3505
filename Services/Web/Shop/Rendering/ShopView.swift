import Foundation
import Messages
import ParseProtocol

/// Turns objects into the values that templates show, in one language.
struct ShopView {
    let words: ShopWords
    let currency: Currency
    let zone: ShopZone

    func date(_ value: JSON?) -> String { words.date(value, in: zone) }

    func money(_ minorUnits: Int64) -> String { words.money(minorUnits, currency) }

    /// The price of a product in minor units. Prices on the wire are decimal numbers of the major unit.
    func price(_ product: JSON) -> Int64 {
        let units = (product["unitPrice"]?.doubleValue ?? 0) * Double(currency.minorUnitsOfOne)
        return Int64(exactly: units.rounded()) ?? 0
    }

    /// A product as in lists.
    func card(_ product: JSON) -> [String: Any] {
        let name = product["name"]?.stringValue ?? ""
        var values: [String: Any] = [
            "id": product["objectId"]?.stringValue ?? "", "name": name, "href": Self.href("products", product, name),
            "price": priceText(product),
        ]
        values.merge(Self.picture(product["thumbnail"] ?? product["fullsizeImage"], upTo: 640)) { $1 }
        if let brand = product["brand"]?["title"]?.stringValue { values["brand"] = brand }
        if let rating = rating(product) { values["rating"] = rating }
        if isSoldOut(product) { values["soldOut"] = true }
        return values
    }

    /// Cards at the top of a page, whose pictures browsers load at once.
    func firstCards(_ products: [JSON]) -> [[String: Any]] { Self.eager(products.map(card)) }

    /// Entries of a list at the top of a page, whose first pictures browsers load at once.
    static func eager(_ entries: [[String: Any]]) -> [[String: Any]] {
        var left = atTop
        return entries.map { entry in
            guard left > 0, entry["picture"] is String else { return entry }
            left -= 1
            return entry.merging(["eager": true]) { $1 }
        }
    }

    /// Two rows on a phone.
    private static let atTop = 4

    /// `$3.50`, `$3.50/kg`.
    func priceText(_ product: JSON) -> String {
        let unit = product["priceUnit"]?.stringValue ?? ""
        // The price of a piece needs no unit.
        return money(price(product)) + (unit.isEmpty || unit == "ea" ? "" : "/\(unit)")
    }

    func isSoldOut(_ product: JSON) -> Bool { (product["stock"]?.intValue).map { $0 <= 0 } ?? false }

    /// `4.5 of 5 stars (12 reviews)`; nil without reviews.
    func rating(_ product: JSON) -> String? {
        guard let count = product["ratingCount"]?.intValue, count > 0 else { return nil }
        let average = product["ratingAverage"]?.doubleValue ?? 0
        return words("rating", ["stars": decimal(average), "count": String(count)])
    }

    /// A number with one decimal.
    func decimal(_ number: Double) -> String {
        let text = String(format: "%.1f", number)
        return words.language == "de" ? text.replacing(".", with: ",") : text
    }

    static func picture(_ file: JSON?) -> String? { file?["url"]?.stringValue }

    /// The path of an object's page: `/products/rose-serum-pR7dLw2sKe`. An id of a moved shop that has dashes itself
    /// comes after two, which no name has: `/products/rose-serum--sku-1`.
    static func href(_ folder: String, _ object: JSON, _ name: String) -> String {
        let id = object["objectId"]?.stringValue ?? ""
        let slug = slug(name)
        guard !id.contains("-") else { return "/\(folder)/" + "\(slug)--\(id)".percentEncoded }
        return "/\(folder)/" + (slug.isEmpty ? id : "\(slug)-\(id)").percentEncoded
    }

    /// Small letters, digits and single dashes; other alphabets are written in Latin letters.
    static func slug(_ name: String) -> String {
        if let slug = plainSlug(name) { return slug }
        let start = String(name.prefix(80))
        let latin = start.applyingTransform(.toLatin, reverse: false) ?? start
        let plain = latin.folding(options: [.diacriticInsensitive, .caseInsensitive], locale: nil)
        return plain.split { !($0.isASCII && ($0.isLetter || $0.isNumber)) }.joined(separator: "-")
    }

    /// The same for a name of ASCII alone, without Foundation's transforms; nil for another one. A carriage return and
    /// the line feed after it are one character.
    private static func plainSlug(_ name: String) -> String? {
        guard name.utf8.allSatisfy({ $0 < 0x80 && $0 != UInt8(ascii: "\r") }) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(80)
        var separates = false
        for byte in name.utf8.prefix(80) {
            let small = byte | 0x20
            let isDigit = (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
            guard isDigit || (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(small) else {
                separates = !bytes.isEmpty
                continue
            }
            if separates { bytes.append(UInt8(ascii: "-")) }
            separates = false
            bytes.append(isDigit ? byte : small)
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// The object's id in a path of `href`.
    static func id(in component: String) -> String {
        if let dashes = component.range(of: "--") { return String(component[dashes.upperBound...]) }
        return component.split(separator: "-").last.map(String.init) ?? ""
    }

    /// The lines of a bag or a receipt.
    func lines(_ bag: JSON) -> [[String: Any]] {
        (bag["items"]?.arrayValue ?? []).map { line in
            let product = line["product"] ?? .null
            let name = product["name"]?.stringValue ?? line["name"]?.stringValue ?? ""
            let quantity = line["quantity"]?.intValue ?? 0
            let unitPrice = line["unitPriceMinorUnits"]?.intValue ?? price(product)
            var values: [String: Any] = [
                "id": product["objectId"]?.stringValue ?? line["productId"]?.stringValue ?? "", "name": name,
                "quantity": quantity, "more": quantity.inRange(adding: 1), "fewer": max(1, quantity) - 1,
                "unitPrice": money(unitPrice),
                "total": money(line["lineTotalMinorUnits"]?.intValue ?? unitPrice.inRange(times: quantity)),
                "href": Self.href("products", product, name),
                "lessLabel": words("bag.less", ["name": name]), "moreLabel": words("bag.more", ["name": name]),
                "removeLabel": words("bag.removeName", ["name": name]),
            ]
            values.merge(Self.picture(product["thumbnail"] ?? product["fullsizeImage"], upTo: 320)) { $1 }
            switch line["availability"]?.stringValue {
            case "notForSale"?: values["lineProblem"] = words("bag.notForSale")
            case "soldOut"?: values["lineProblem"] = words("bag.soldOut")
            case "tooFew"?: values["lineProblem"] = words("bag.tooFew", ["left": String(line["left"]?.intValue ?? 0)])
            default: break
            }
            return values
        }
    }

    /// The sums of a bag or a receipt.
    func sums(_ bag: JSON) -> [String: Any] {
        var values: [String: Any] = ["total": money(bag["totalMinorUnits"]?.intValue ?? 0)]
        if let discount = bag["discountMinorUnits"]?.intValue, discount > 0 {
            values["discount"] = money(-discount)
            values["subtotal"] = money(bag["subtotalMinorUnits"]?.intValue ?? 0)
        }
        if let code = bag["discountCode"]?.stringValue { values["code"] = code }
        return values
    }

    func order(_ order: JSON) -> [String: Any] {
        let number = order["orderNo"]?.intValue ?? 0
        let state = order["orderState"]?.stringValue ?? "made"
        var values: [String: Any] = [
            "id": order["objectId"]?.stringValue ?? "", "number": number, "date": date(order["orderDate"]),
            "href": "/orders/\((order["objectId"]?.stringValue ?? "").percentEncoded)",
            "state": words("order.state.\(state)"), "total": money(order["total"]?.intValue ?? 0),
            "mayCancel": state == "made",
        ]
        if let tracking = order["trackingNumber"]?.stringValue { values["tracking"] = tracking }
        if let refunded = order["refundedTotal"]?.intValue, refunded > 0 { values["refunded"] = money(refunded) }
        return values
    }
}

/// Imported numbers may have any size: a result beyond the range is the nearest number in it.
extension Int64 {
    func inRange(adding other: Int64) -> Int64 {
        let (sum, isOverflow) = addingReportingOverflow(other)
        guard isOverflow else { return sum }
        return other < 0 ? .min : .max
    }

    func inRange(times other: Int64) -> Int64 {
        let (product, isOverflow) = multipliedReportingOverflow(by: other)
        guard isOverflow else { return product }
        return (self < 0) == (other < 0) ? .max : .min
    }
}
