import BagService
import ParseProtocol
import Testing

/// The fields that clients may set in an order and its lines.
@Suite struct BagFieldTests {
    static func code(_ work: () throws -> Void) -> Int? { CheckoutRequestTests.code(work) }

    static let badQuantities: [JSON] = [
        -1, 0, 1.5, 1000, 1_000_000_000, "2", true, [], ["__op": "Increment", "amount": 1],
    ]

    @Test(arguments: badQuantities) func onlyWholeNumbersInRangeAreQuantities(value: JSON) {
        #expect(Self.code { _ = try Quantity.parse(value, in: 1...Quantity.max) } == 142)
    }

    @Test func quantitiesAreRead() throws {
        #expect(try Quantity.parse(999, in: 1...Quantity.max) == 999)
        #expect(try Quantity.parse(nil, in: 1...Quantity.max, whenMissing: 1) == 1)
        #expect(Self.code { _ = try Quantity.parse(nil, in: 0...Quantity.max) } == 142)
    }

    @Test func aLineIsIncrementedWithinItsRange() throws {
        #expect(try Quantity.changed(2, by: ["__op": "Increment", "amount": 3]) == 5)
        #expect(try Quantity.changed(2, by: ["__op": "Increment", "amount": -2]) == 0)
        #expect(try Quantity.changed(2, by: 0) == 0)
        for change: JSON in [
            ["__op": "Increment", "amount": -3], ["__op": "Increment", "amount": 998], ["__op": "Delete"],
        ] {
            #expect(Self.code { _ = try Quantity.changed(2, by: change) } == 142)
        }
    }

    @Test func arrayOperationsChangeTheLines() throws {
        let a = JSON.pointer("OrderItem", "a"), b = JSON.pointer("OrderItem", "b")
        #expect(try ItemsChange([a, b, a]).applied(to: ["x"]) == ["a", "b"])
        #expect(try ItemsChange(["__op": "AddUnique", "objects": [a, b]]).applied(to: ["a"]) == ["a", "b"])
        #expect(try ItemsChange(["__op": "Add", "objects": [a]]).applied(to: ["a"]) == ["a"])
        #expect(try ItemsChange(["__op": "Remove", "objects": [a]]).applied(to: ["a", "b"]) == ["b"])
        #expect(try ItemsChange(["__op": "Delete"]).applied(to: ["a"]) == [])
        #expect(try ItemsChange(.null).applied(to: ["a"]) == [])
    }

    static let badItems: [(JSON, Int)] = [
        ("a", 111), (["a"], 111), ([.pointer("Product", "a")], 111), ([.pointer("OrderItem", "*")], 111), ([:], 111),
        (["__op": "Increment", "amount": 1], 107),
        (.array(Array(repeating: .pointer("OrderItem", "a"), count: 201)), 142),
    ]

    @Test(arguments: badItems) func itemsArePointersToLines(value: JSON, code: Int) {
        #expect(Self.code { _ = try ItemsChange(value) } == code)
    }

    static let serversFields: [JSON] = [
        ["orderNo": 1_000_001], ["orderStatus": 1], ["orderStatus": ["__op": "Increment", "amount": 1]], ["total": 1],
        ["stripePaymentId": "ch_1"], ["currency": "eur"], ["refundedTotal": 0], ["refundState": "done"],
        ["carrier": "x"], ["trackingNumber": "x"], ["trackingUrl": "https://x.example"], ["cancelReason": "x"],
        ["trackingCorrections": []],
        ["shippedAt": ["__type": "Date", "iso": "2026-01-01T00:00:00.000Z"]],
        ["orderDate": ["__type": "Date", "iso": "2026-01-01T00:00:00.000Z"]],
        ["customer": .pointer("_User", "somebodyElse")], ["customer": ["__op": "Delete"]], ["discount": 5],
    ]

    @Test(arguments: serversFields) func clientsDoNotWriteWhatIsTheServers(object: JSON) {
        let present: JSON = ["orderStatus": 0, "total": 1900, "currency": "usd"]
        #expect(Self.code { _ = try OrderChange(object, present: present, customerId: "u1") } == 119)
        #expect(Self.code { _ = try OrderChange(object, present: nil, customerId: "u1") } == 119)
    }

    @Test func aWholeObjectMayComeBackUnchanged() throws {
        let present: JSON = ["orderStatus": 0, "total": 1900, "currency": "usd", "customer": .pointer("_User", "u1")]
        var object = present
        object["note"] = "Ring twice"
        object["ACL"] = ["*": ["read": true]]
        object["updatedAt"] = "2026-01-01T00:00:00.000Z"
        let change = try OrderChange(object, present: present, customerId: "u1")
        #expect(change.fields == ["note": "Ring twice"])
        #expect(change.items == nil)
    }

    @Test func anAddressNamesWhatIsMissing() throws {
        let address = try ShippingAddress([
            "firstName": "Ann", "lastName": " ", "phone": "1", "address1": "1 Road", "city": "", "state": "CA",
            "zipcode": 94107,
        ])
        #expect(address.json["zipcode"] == "94107")
        do {
            try address.requireComplete()
            Issue.record("The address is not complete.")
        } catch let error as ParseError {
            #expect(error.code == .validationError)
            #expect(error.message == "The shipping address is incomplete: lastName, city are missing.")
            #expect(error.details == ["missing": ["lastName", "city"]])
        }
    }

    static let badAddresses: [JSON] = [
        "here", [], ["__type": "Pointer"], ["__op": "Delete"], ["city": ["x"]],
        ["city": .string(String(repeating: "x", count: 201))],
        ["a.b": "c"],
    ]

    @Test(arguments: badAddresses) func anAddressIsAnObjectOfShortTexts(value: JSON) {
        #expect(Self.code { _ = try ShippingAddress(value) } == 142)
    }
}
