import ParseProtocol

/// The bag as functions return it: lines with their products, subtotal and badge count.
struct BagView {
    let order: OpenOrder?
    let currency: String
    /// Whether a checkout of the order runs. Its reservation has already reduced the stock, so the stock says nothing
    /// about these lines.
    var isBeingPaid = false

    /// Products whose facts are needed but not loaded yet.
    func missing(from facts: ProductFacts) -> Set<String> {
        Set((order?.items ?? []).map(\.productId)).subtracting(facts.prices.asked)
    }

    /// Whether a line can be bought now; the line's `availability` reports it.
    private enum Availability: Equatable {
        case available, notForSale, soldOut
        /// Fewer pieces are in stock than the line asks for.
        case tooFew(left: Int64)

        init(price: Int64?, stock: Int64?, quantity: Int) {
            if price == nil {
                self = .notForSale
            } else if let stock, stock < quantity {
                self = stock > 0 ? .tooFew(left: stock) : .soldOut
            } else {
                self = .available
            }
        }

        var name: String {
            switch self {
            case .available: "available"
            case .notForSale: "notForSale"
            case .soldOut: "soldOut"
            case .tooFew: "tooFew"
            }
        }
    }

    /// A product that is no longer sold stays in the bag and adds nothing to the subtotal.
    func json(_ facts: ProductFacts) -> JSON {
        var lines: [JSON] = []
        var pieces: Int64 = 0
        var subtotal: Int64 = 0
        for item in order?.items ?? [] {
            let price = facts.prices.unitPriceMinorUnits[item.productId]
            let lineTotal = Int64(item.quantity) * (price ?? 0)
            let stock = isBeingPaid ? nil : facts.documents[item.productId]?["stock"]?.intValue
            let availability = Availability(price: price, stock: stock, quantity: item.quantity)
            pieces += Int64(item.quantity)
            subtotal += lineTotal
            var line: JSON = [
                "objectId": .string(item.objectId), "quantity": .int(Int64(item.quantity)),
                "product": facts.documents[item.productId] ?? .pointer("Product", item.productId),
                "unitPriceMinorUnits": .int(price ?? 0), "lineTotalMinorUnits": .int(lineTotal),
                "available": .bool(availability == .available), "availability": .string(availability.name),
            ]
            if case .tooFew(let left) = availability { line["left"] = .int(left) }
            lines.append(line)
        }
        return [
            "orderId": order.map { .string($0.objectId) } ?? .null, "items": .array(lines), "badgeCount": .int(pieces),
            "subtotalMinorUnits": .int(subtotal), "currency": .string(currency),
        ]
    }
}
