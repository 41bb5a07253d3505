import BagService
import ParseProtocol
import Testing

/// The parameters that the paying functions accept.
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
        (["tokenId": "tok_visa", "discountcode": "BF20"], 142),
        (["tokenId": "tok_visa", "discountCode": 20], 142),
    ]

    @Test(arguments: refused) func badParametersAreRefused(parameters: JSON, code: Int) {
        #expect(Self.code { _ = try CheckoutRequest(checkout: parameters) } == code)
    }

    /// Published apps send parameters that their cloud code read.
    @Test func theOlderFunctionsIgnoreOtherParameters() throws {
        let parameters: JSON = ["orderId": "o1", "customerId": "cus_1", "itemDesc": "Soap", "discountCode": "bf20"]
        #expect(try CheckoutRequest(chargeCustomer: parameters).discountCode == "BF20")
    }

    @Test func theOlderFunctionsNeedTheirParameters() {
        #expect(Self.code { _ = try CheckoutRequest(chargeCustomer: ["customerId": "cus_1"]) } == 142)
        #expect(Self.code { _ = try CheckoutRequest(chargeCustomer: ["orderId": "o1"]) } == 142)
        #expect(Self.code { _ = try CheckoutRequest(chargeToken: ["orderId": "o1"]) } == 142)
        #expect(
            Self.code { _ = try CheckoutRequest(chargeCustomer: ["orderId": "o1", "customerId": "5555555555554444"]) }
                == 142)
    }

    // MARK: Apple Pay

    /// `PKContact` as an app of iOS 9 sends it, one of iOS 8, and Apple Pay on the web.
    static let contacts: [JSON] = [
        [
            "name": ["givenName": "Ann", "familyName": "Example"], "phoneNumber": "555 0100",
            "emailAddress": "ann@sheet.example",
            "postalAddress": [
                "street": "1 Road", "city": "Oakland", "state": "CA", "postalCode": "94601", "country": "USA",
            ],
        ],
        [
            "firstName": "Ann", "lastName": "Example", "phone": "555 0100", "email": "ann@sheet.example",
            "Street": "1 Road", "City": "Oakland", "State": "CA", "ZIP": "94601", "Country": "USA",
        ],
        [
            "givenName": "Ann", "familyName": "Example", "phoneNumber": "555 0100", "emailAddress": "ann@sheet.example",
            "addressLines": ["1 Road", ""], "locality": "Oakland", "administrativeArea": "CA", "postalCode": "94601",
            "country": "USA",
        ],
    ]

    @Test(arguments: contacts) func aPaymentSheetBringsTheAddress(contact: JSON) throws {
        let request = try CheckoutRequest(chargeToken: [
            "orderId": "o1", "chargeToken": "tok_visa", "shippingContact": contact,
        ])
        #expect(request.email == "ann@sheet.example")
        #expect(request.addressNeed == .ofPaymentSheet)
        #expect(
            request.shippingAddress?.json == [
                "firstName": "Ann", "lastName": "Example", "phone": "555 0100", "address1": "1 Road",
                "city": "Oakland", "state": "CA", "zipcode": "94601", "country": "USA",
            ])
    }

    @Test func whereAPaymentSheetAsksForLessLessIsNeeded() throws {
        let sheet = try PaymentSheetContact(["name": "Ann", "street": "1 Road", "city": "Singapore"])
        try sheet.address.requireDeliverable()
        #expect(Self.code { try sheet.address.requireComplete() } == 142)
        let nameless = try PaymentSheetContact(["postalAddress": ["street": "1 Road", "city": "Singapore"]])
        #expect(Self.code { try nameless.address.requireDeliverable() } == 142)
        let long = JSON.string(String(repeating: "x", count: 201))
        for bad in ["here", ["__op": "Delete"], ["givenName": ["a"]], ["street": long]] as [JSON] {
            #expect(Self.code { _ = try PaymentSheetContact(bad) } == 142, "\(bad)")
        }
    }

    @Test func aTokenHasTwoSpellings() throws {
        #expect(
            try CheckoutRequest(chargeToken: ["orderId": "o1", "tokenId": "tok_visa"]).source == .token("tok_visa"))
    }

    // MARK: E-mail and answer

    @Test func theAddressForTheConfirmationIsAnAddress() throws {
        func request(_ parameters: [String: JSON]) throws -> CheckoutRequest {
            try CheckoutRequest(checkout: .object(parameters.merging(["tokenId": "tok_visa"]) { own, _ in own }))
        }
        #expect(try request(["email": "a@b.example"]).email == "a@b.example")
        #expect(try request(["customerEmail": "a@b.example", "email": ""]).email == "a@b.example")
        #expect(try request(["shippingAddress": ["email": "a@b.example"]]).email == "a@b.example")
        #expect(try request(["shippingAddress": ["email": "none"]]).email == nil)
        #expect(try request([:]).email == nil)
        for bad in ["none", "a@b.example\r\nBcc: c@d.example", "a@b@c", 7, ["$ne": "x"]] as [JSON] {
            #expect(Self.code { _ = try request(["email": bad]) } == 125, "\(bad)")
        }
    }

    @Test func theAnswerOfAChargeIsTextOrObject() throws {
        let receipt: JSON = ["orderId": "o1", "stripePaymentId": "ch_1", "totalMinorUnits": 700, "currency": "usd"]
        #expect(ChargeAnswer.text.shown(receipt) == "ch_1")
        #expect(ChargeAnswer.text.shown(["orderId": "o1", "stripePaymentId": .null]) == "o1")
        let object = ChargeAnswer.object.shown(receipt)
        #expect(object["id"] == "ch_1")
        #expect(object["paid"] == true)
        #expect(object["amount"] == 700)
        #expect(object["orderId"] == "o1")
        let parameters: JSON = ["orderId": "o1", "customerId": "cus_1"]
        #expect(try CheckoutRequest(chargeCustomer: parameters).answerForm == nil)
        for (answer, form) in [("text", ChargeAnswer.text), ("object", .object)] {
            var parameters = parameters
            parameters["answer"] = .string(answer)
            #expect(try CheckoutRequest(chargeCustomer: parameters).answerForm == form)
        }
        var wrong = parameters
        wrong["answer"] = "yaml"
        #expect(Self.code { _ = try CheckoutRequest(chargeCustomer: wrong) } == 142)
    }
}
