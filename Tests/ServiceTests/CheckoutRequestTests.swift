import BagService
import ParseProtocol
import Testing

/// What the paying functions take.
@Suite struct CheckoutRequestTests {
    static func code(_ work: () throws -> Void) -> Int? {
        do {
            try work()
            return nil
        } catch {
            return (error as? ParseError)?.code.rawValue
        }
    }

    @Test func checkoutTakesAPaymentMethodOrAToken() throws {
        #expect(try CheckoutRequest(checkout: ["paymentMethodId": "pm1"]).source == .paymentMethod("pm1"))
        let request = try CheckoutRequest(checkout: [
            "tokenId": "tok_visa", "idempotencyKey": "k", "amount": 1900, "note": "Ring twice", "giftMessage": .null,
        ])
        #expect(request.source == .token("tok_visa"))
        #expect(request.clientKey == "k")
        #expect(request.amount == 1900)
        #expect(request.orderId == nil)
        #expect(request.texts == ["note": "Ring twice"])
    }

    @Test func theOlderFunctionsNameTheirOrder() throws {
        let customer = try CheckoutRequest(chargeCustomer: ["orderId": "o1", "customerId": "cus_1", "chargeAmount": 5])
        #expect(customer.source == .customer("cus_1"))
        #expect(customer.orderId == "o1")
        #expect(customer.amount == 5)
        #expect(
            try CheckoutRequest(chargeToken: ["orderId": "o1", "chargeToken": "tok_visa"]).source == .token("tok_visa"))
    }

    static let refused: [(JSON, Int)] = [
        (["tokenId": "a", "paymentMethodId": "b"], 142),
        (["tokenId": ["$ne": "x"]], 142),
        (["tokenId": ""], 142),
        (["tokenId": "4242 4242 4242 4242"], 142),
        (["tokenId": "tok_visa", "note": "card 4242-4242-4242-4242"], 142),
        (["tokenId": "tok_visa", "amount": 1.5], 142),
        (["tokenId": "tok_visa", "amount": -1], 142),
        (["tokenId": "tok_visa", "amount": "1900"], 142),
        (["tokenId": "tok_visa", "orderId": "role:admins"], 101),
        (["tokenId": "tok_visa", "idempotencyKey": 7], 142),
        (["tokenId": "tok_visa", "shippingAddress": "here"], 142),
        (["tokenId": "tok_visa", "note": ["a"]], 111),
        (["tokenId": "tok_visa", "note": "a\u{7}"], 142),
        (["tokenId": "tok_visa", "giftMessage": .string(String(repeating: "x", count: 2001))], 142),
        (["tokenId": "tok_visa", "addressId": "role:admins"], 101),
        (["tokenId": "tok_visa", "addressId": ["$ne": "x"]], 142),
        (["tokenId": "tok_visa", "addressId": "a1", "shippingAddress": [:]], 142),
    ]

    @Test(arguments: refused) func badParametersAreRefused(parameters: JSON, code: Int) {
        #expect(Self.code { _ = try CheckoutRequest(checkout: parameters) } == code)
    }

    @Test func theOlderFunctionsNeedTheirParameters() {
        #expect(Self.code { _ = try CheckoutRequest(chargeCustomer: ["customerId": "cus_1"]) } == 142)
        #expect(Self.code { _ = try CheckoutRequest(chargeCustomer: ["orderId": "o1"]) } == 142)
        #expect(Self.code { _ = try CheckoutRequest(chargeToken: ["orderId": "o1"]) } == 142)
        #expect(
            Self.code { _ = try CheckoutRequest(chargeCustomer: ["orderId": "o1", "customerId": "5555555555554444"]) }
                == 142)
    }
}
