import BagService
import ParseProtocol
import ServiceSupport
import TestSupport
import Testing

/// The arithmetic of discounts and the rules of codes. No I/O.
@Suite struct DiscountTermsTests {
    private static func lines(_ prices: [Int64]) -> [DiscountTerms.Line] {
        prices.enumerated().map { .init(productId: "p\($0.offset)", minorUnits: $0.element) }
    }

    private static func shares(_ value: DiscountTerms.Value, of prices: [Int64]) throws -> [Int64] {
        try DiscountTerms(code: "BF20", value: value).shares(of: lines(prices))
    }

    /// The name of the problem in the error that `work` throws.
    private static func problem(_ work: () throws -> Void) -> String? {
        do {
            try work()
            return nil
        } catch {
            return (error as? ParseError)?.details?["code"]?.stringValue
        }
    }

    @Test func aPercentageIsRoundedOnceHalfUp() throws {
        #expect(try Self.shares(.percent(20), of: [700, 1200]) == [140, 240])
        // 15 % of 30 is 4.5. Each line alone would round to 2.
        #expect(try Self.shares(.percent(15), of: [10, 10, 10]) == [2, 2, 1])
        #expect(try Self.shares(.percent(10), of: [4]) == [0])
        #expect(try Self.shares(.percent(10), of: [5]) == [1])
        #expect(try Self.shares(.percent(100), of: [7, 0, 9]) == [7, 0, 9])
    }

    @Test func anAmountNeverExceedsTheLines() throws {
        #expect(try Self.shares(.amount(100), of: [50, 100, 150]) == [17, 33, 50])
        #expect(try Self.shares(.amount(1000), of: [50, 100]) == [50, 100])
    }

    /// Random bags, up to the largest that a catalog allows.
    @Test func theSharesAreTheDiscountAndNoneExceedsItsLine() throws {
        var random = Seeded(11)
        for _ in 0..<3000 {
            let largest = Int64([10, 10_000, 999_000_000_000].randomElement(using: &random) ?? 1)
            let prices = (0..<Int.random(in: 1...200, using: &random)).map { _ in
                Int64.random(in: 0...largest, using: &random)
            }
            let lines = Self.lines(prices)
            let some = lines.map(\.productId).filter { _ in Bool.random(using: &random) }
            let products = Bool.random(using: &random) ? nil : Set(some)
            let weights = lines.map { products?.contains($0.productId) == false ? 0 : $0.minorUnits }
            let sum = weights.reduce(0, +)
            let percent = Int64.random(in: 1...100, using: &random)
            let amount = Int64.random(in: 1...max(1, sum + 10), using: &random)
            let values: [(DiscountTerms.Value, Int64)] = [
                (.percent(percent), (sum * percent + 50) / 100), (.amount(amount), min(amount, sum)),
            ]
            for (value, expected) in values {
                let terms = DiscountTerms(code: "BF20", value: value, products: products)
                guard sum > 0 else {
                    #expect(Self.problem { _ = try terms.shares(of: lines) } == "discount_not_applicable")
                    continue
                }
                let shares = try terms.shares(of: lines)
                #expect(shares.count == weights.count)
                #expect(shares.reduce(0, +) == expected)
                #expect(zip(shares, weights).allSatisfy { (0...$1).contains($0) })
                guard largest <= 10_000 else { continue }
                // Less than one minor unit from the exact share.
                #expect(zip(shares, weights).allSatisfy { abs($0 * sum - expected * $1) < sum })
            }
        }
    }

    /// However the pieces of a line are refunded, all refunds together are what was paid.
    @Test func refundsOfAllPiecesAreWhatWasPaid() throws {
        var random = Seeded(12)
        for _ in 0..<500 {
            let quantity = Int.random(in: 1...999, using: &random)
            let price = Int64.random(in: 1...100_000, using: &random)
            let discount = DiscountTerms(code: "BF20", value: .percent(Int64.random(in: 1...100, using: &random)))
            let order = try Self.priced(quantity, price, discount)
            let line = try #require(order.lines.first)
            #expect(order.totalMinorUnits == order.subtotalMinorUnits - order.discountMinorUnits)
            var (before, refunded) = (0, Int64(0))
            while before < quantity {
                let pieces = Int.random(in: 1...(quantity - before), using: &random)
                let amount = line.paid(for: pieces, after: before)
                #expect((0...price * Int64(pieces)).contains(amount))
                (before, refunded) = (before + pieces, refunded + amount)
            }
            #expect(refunded == line.paidMinorUnits)
            #expect(refunded == order.totalMinorUnits)
        }
    }

    private static func checkout(_ quantity: Int, _ discount: DiscountTerms) -> Checkout {
        Checkout(
            id: "co_1", orderId: "o1", customerId: "u1",
            lines: [.init(itemId: "i1", productId: "soap", quantity: quantity)], expectedAmount: nil,
            source: .token("tok_visa"), email: "", discount: discount)
    }

    /// The order as a reservation at this price prices it.
    private static func priced(_ quantity: Int, _ price: Int64, _ discount: DiscountTerms) throws -> PricedOrder {
        var machine = CheckoutMachine(checkout(quantity, discount), at: .started)
        let reservation = Reservation(
            products: ["soap": .init(name: "Soap", unitPriceMinorUnits: price)], currency: "usd")
        switch machine.reservationAnswered(.success(reservation)) {
        case .store(.reserved(let order)): return order
        case .fail(let error, holdsStock: true): throw error
        default: throw ParseError.internalError
        }
    }

    /// A price that fell since the bag was shown.
    @Test func aMinimumThatThePriceNoLongerReachesFailsTheCheckout() throws {
        let terms = DiscountTerms(code: "BF20", value: .amount(100), minimumMinorUnits: 700)
        #expect(try Self.priced(2, 350, terms).totalMinorUnits == 600)
        #expect(Self.problem { _ = try Self.priced(2, 349, terms) } == "discount_minimum_not_reached")
    }

    // MARK: Codes

    @Test(
        arguments: [
            [:], ["discountCode": "BF20"], ["discountCode": "BF", "percent": 20],
            ["discountCode": "BF 20", "percent": 20],
            ["discountCode": "BÄ20", "percent": 20],
            ["discountCode": .string(String(repeating: "A", count: 41)), "percent": 1],
            ["discountCode": "BF20", "percent": 0], ["discountCode": "BF20", "percent": 101],
            ["discountCode": "BF20", "percent": 2.5], ["discountCode": "BF20", "percent": 5, "amountMinorUnits": 5],
            ["discountCode": "BF20", "amountMinorUnits": 0], ["discountCode": "BF20", "percent": 5, "usesMax": 0],
            ["discountCode": "BF20", "percent": 5, "from": "2030-02-01", "until": "2030-01-01"],
            ["discountCode": "BF20", "percent": 5, "from": "soon"],
            ["discountCode": "BF20", "percent": 5, "active": 1],
            ["discountCode": "BF20", "percent": 5, "brandId": "b1", "productId": "p1"],
            ["discountCode": "BF20", "percent": 5, "brandId": ["$ne": "x"]],
        ] as [JSON])
    func definitionsThatMeanNothingAreRefused(_ definition: JSON) async {
        #expect(await parseCode { _ = try DiscountCode(definition) } == 142, "\(definition)")
    }

    @Test func aCodeIsStoredAsItIsDefined() throws {
        let code = try DiscountCode([
            "discountCode": "bf-20_a", "percent": 20, "minimumMinorUnits": 500, "from": "2030-01-01",
            "until": "2030-02-01", "brandId": "brand1", "usesMax": 5, "usesPerCustomerMax": 1,
        ])
        #expect(code.code == "BF-20_A")
        #expect(try DiscountCode(code.json) == code)
        let prices = Prices(asked: ["soap", "comb"], brands: ["soap": "brand1", "comb": "brand2"])
        #expect(code.terms(prices).products == ["soap"])
    }

    @Test(
        arguments: [
            ("2029-12-31T23:59:59.999Z", "discount_not_yet_valid"), ("2030-01-01", nil),
            ("2030-01-31T23:59:59.999Z", nil), ("2030-02-01", "discount_expired"),
        ] as [(String, String?)])
    func aCodeIsValidBetweenItsDates(now: String, problem: String?) throws {
        let code = try DiscountCode([
            "discountCode": "BF20", "percent": 20, "from": "2030-01-01", "until": "2030-02-01",
        ])
        let moment = try #require(Timestamp(iso: now))
        #expect(Self.problem { try code.requireValid(at: moment) } == problem)
    }
}
