import ObjectStore
import ParseProtocol

/// The bag as functions return it: lines with their products, sums, discount and badge count.
struct BagView {
    let order: OpenOrder?
    let currency: String
    /// Whether a checkout of the order runs. Its reservation has already reduced the stock, so the stock says nothing
    /// about these lines.
    let isBeingPaid: Bool
    /// The client's key of a payment that the customer has to confirm; nil without one.
    private let waitingPayment: String?
    /// The bag's discount code, or why it cannot be used; nil without a code.
    private let discount: Result<DiscountCode, ParseError>?

    init(
        order: OpenOrder?, currency: String, isBeingPaid: Bool = false, waitingPayment: String? = nil,
        at now: Timestamp, in store: ObjectReader
    ) throws {
        self.order = order
        self.currency = currency
        self.isBeingPaid = isBeingPaid
        self.waitingPayment = waitingPayment
        guard let order, let code = order.discountCode else {
            discount = nil
            return
        }
        do {
            discount = .success(
                try DiscountCodes.usable(code, by: order.customerId, isInUse: isBeingPaid, at: now, in: store))
        } catch let problem as ParseError where problem.code == .validationError {
            discount = .failure(problem)
        }
    }

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

    /// What the code takes off now.
    func discountMinorUnits(_ prices: Prices) -> Result<Int64, ParseError> {
        guard let discount else { return .success(0) }
        let lines = (order?.items ?? []).map {
            DiscountTerms.Line(
                productId: $0.productId,
                minorUnits: Int64($0.quantity) * (prices.unitPriceMinorUnits[$0.productId] ?? 0))
        }
        do {
            return .success(try discount.get().terms(prices).shares(of: lines).reduce(0, +))
        } catch {
            return .failure(error)
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
        let discount = discountMinorUnits(facts.prices)
        let taken = (try? discount.get()) ?? 0
        var bag: JSON = [
            "orderId": order.map { .string($0.objectId) } ?? .null, "items": .array(lines), "badgeCount": .int(pieces),
            "subtotalMinorUnits": .int(subtotal), "discountMinorUnits": .int(taken),
            "totalMinorUnits": .int(subtotal - taken), "currency": .string(currency),
        ]
        bag["waitingPayment"] = waitingPayment.map(JSON.string)
        bag["discountCode"] = order?.discountCode.map(JSON.string)
        if case .failure(let problem) = discount { bag["discountProblem"] = problem.body }
        return bag
    }
}
