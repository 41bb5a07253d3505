import Messages
import ParseProtocol

/// What follows an order: refunds, and the same order again.
extension Shop {
    /// Together with the order, what a page may ask.
    private static let linesMax = 39

    /// The refunds of an order, oldest first.
    func refunds(_ visit: inout ShopVisit, of order: JSON) throws(ShopStop) -> [JSON] {
        guard order["refundState"] != nil, let id = order["objectId"]?.stringValue else { return [] }
        let answer = try visit.ask(.function("orderRefunds", ["orderId": .string(id)]))[0]
        try require(answer, visit)
        return answer.result.arrayValue ?? []
    }

    /// Puts the lines that are still sold into the bag, and shows it.
    func orderAgain(_ visit: inout ShopVisit, _ id: String) throws(ShopStop) -> ShopPage {
        guard !visit.isNobody else { throw .page(missing(visit)) }
        let order = try visit.ask(.get("classes/Order/\(id.percentEncoded)", ["include": "items.product"]))[0]
        try require(order, visit)
        let view = view(visit)
        let lines = order.json["items"]?.arrayValue ?? []
        let sold = lines.filter { line in
            guard let product = line["product"], product["name"] != nil else { return false }
            return product["active"] != false && !view.isSoldOut(product)
        }
        let answers = try visit.ask(
            all: sold.prefix(Self.linesMax).map { line in
                .function(
                    "addToBag",
                    [
                        "productId": .string(line["product"]?["objectId"]?.stringValue ?? ""),
                        "quantity": .int(line["quantity"]?.intValue ?? 1),
                    ])
            })
        for answer in answers where answer.status >= 500 { try require(answer, visit) }
        let missing = lines.count - answers.filter(\.isSuccess).count
        return redirect(missing == 0 ? "/bag" : "/bag?missing=\(missing)")
    }
}

extension ShopView {
    /// The lines of an order, with the pieces that were refunded.
    func lines(_ order: JSON, refunds: [JSON]) -> [[String: Any]] {
        var pieces: [String: Int64] = [:]
        for refund in refunds where refund["state"] != "failed" {
            for line in refund["lines"]?.arrayValue ?? [] {
                let item = line["itemId"]?.stringValue ?? ""
                pieces[item] = (pieces[item] ?? 0).inRange(adding: line["quantity"]?.intValue ?? 0)
            }
        }
        return zip(order["items"]?.arrayValue ?? [], lines(order)).map { item, line -> [String: Any] in
            guard let refunded = pieces[item["objectId"]?.stringValue ?? ""] else { return line }
            var values = line
            values["refundedPieces"] = words("order.refundedPieces", ["n": String(refunded)])
            return values
        }
    }

    func refund(_ refund: JSON) -> [String: Any] {
        [
            "date": date(refund["createdAt"]), "amount": money(refund["amount"]?.intValue ?? 0),
            "refundState": words("order.refund.\(refund["state"]?.stringValue ?? "pending")"),
        ]
    }

    /// What has happened to an order, oldest first.
    func steps(_ order: JSON) -> [[String: Any]] {
        [("made", "orderDate"), ("shipped", "shippedAt"), ("delivered", "deliveredAt"), ("cancelled", "cancelledAt")]
            .compactMap { step, field -> [String: Any]? in
                let day = date(order[field])
                return day.isEmpty ? nil : ["step": words("order.step.\(step)"), "date": day]
            }
    }

    /// The lines of an address as on a letter.
    func addressLines(_ address: JSON) -> [String] {
        [["firstName", "lastName"], ["address1"], ["address2"], ["city", "state", "zipcode"], ["country"], ["phone"]]
            .map { names in names.compactMap { address[$0]?.stringValue }.joined(separator: " ") }
            .filter { !$0.isEmpty }
    }
}
