import ParseProtocol

/// The bag as functions answer it: lines with their products, subtotal and badge number.
struct BagView {
    let order: OpenOrder?
    let currency: String

    /// Products whose facts are needed and not there yet.
    func missing(from facts: ProductFacts) -> Set<String> {
        Set((order?.items ?? []).map(\.productId)).subtracting(facts.prices.asked)
    }

    /// A product that is not sold any more stays in the bag with `"available": false` and counts nothing.
    func json(_ facts: ProductFacts) -> JSON {
        var lines: [JSON] = []
        var pieces: Int64 = 0
        var subtotal: Int64 = 0
        for item in order?.items ?? [] {
            let price = facts.prices.unitPriceMinorUnits[item.productId]
            let lineTotal = Int64(item.quantity) * (price ?? 0)
            pieces += Int64(item.quantity)
            subtotal += lineTotal
            lines.append([
                "objectId": .string(item.objectId), "quantity": .int(Int64(item.quantity)),
                "product": facts.documents[item.productId] ?? .pointer("Product", item.productId),
                "unitPriceMinorUnits": .int(price ?? 0), "lineTotalMinorUnits": .int(lineTotal),
                "available": .bool(price != nil),
            ])
        }
        return [
            "orderId": order.map { .string($0.objectId) } ?? .null, "items": .array(lines), "badgeCount": .int(pieces),
            "subtotalMinorUnits": .int(subtotal), "currency": .string(currency),
        ]
    }
}
