import BagService
import ObjectStore
import ParseProtocol
import ServiceKit
import ServiceSupport
import TestSupport
import Testing

/// A customer's addresses: private, limited in number, with one default; and which address a checkout uses.
@Suite struct BagAddressTests {
    @discardableResult
    private static func add(
        _ fields: JSON = [:], by userId: String = "u1", to bag: BagStore
    ) async throws -> ChangeOutcome {
        var address = BagStore.address
        for (name, value) in fields.objectValue ?? [:] { address[name] = value }
        return try await bag.save(.create, "Address", nil, address, by: userId)
    }

    private static func defaults(_ bag: BagStore, _ userId: String = "u1") async throws -> [String] {
        try await bag.store.read {
            try $0.documents(
                Query(
                    className: "Address", where: ["owner": .pointer("_User", userId), "default": true]),
                caller: .master
            ).map(\.objectId)
        }
    }

    @Test func spacesAtTheEndsAreNotPartOfAnAddress() throws {
        for space in [" ", "\n", "\r\n", "\t", "\u{A0}", "\u{2028}", "\u{3000}"] {
            for text in ["\(space)Ann Lee", "Ann Lee\(space)", "\(space)Ann Lee\(space)", "Ann Lee"] {
                let members: JSON = ["firstName": .string(text), "city": .string(space)]
                #expect(try ShippingAddress(members).members == ["firstName": "Ann Lee", "city": ""])
                #expect(ShippingAddress(profile: members).members == ["firstName": "Ann Lee", "city": ""])
            }
        }
    }

    @Test func exactlyOneAddressIsTheDefault() async throws {
        let bag = try await BagStore()
        let first = try await Self.add(["label": "Home"], to: bag)
        #expect(first.answer["default"] == true)
        let second = try await Self.add(["default": false], to: bag).objectId
        #expect(try await Self.defaults(bag) == [first.objectId])
        let third = try await Self.add(["default": true], to: bag).objectId
        #expect(try await Self.defaults(bag) == [third])
        try await bag.save(.update, "Address", second, ["default": true], by: "u1")
        #expect(try await Self.defaults(bag) == [second])
        #expect(await parseCode { try await bag.save(.update, "Address", second, ["default": false], by: "u1") } == 142)
        try await bag.save(.delete, "Address", second, by: "u1")
        #expect(try await Self.defaults(bag) == [third])
        try await bag.save(.delete, "Address", third, by: "u1")
        #expect(try await Self.defaults(bag) == [first.objectId])
        try await bag.save(.delete, "Address", first.objectId, by: "u1")
        #expect(try await Self.defaults(bag) == [])
        #expect(try await Self.add(by: "u2", to: bag).answer["default"] == true)
    }

    @Test func addressesAreTheirOwnersOnly() async throws {
        let bag = try await BagStore()
        let id = try await Self.add(["ACL": ["*": ["read": true]]], to: bag).objectId
        let document = try #require(await bag.document("Address", id))
        #expect(document["ACL"] == ["u1": ["read": true, "write": true]])
        #expect(document["owner"] == .pointer("_User", "u1"))
        let refused: [(Int, @Sendable () async throws -> Void)] = [
            (101, { try await bag.save(.update, "Address", id, ["city": "x"], by: "u2") }),
            (101, { try await bag.save(.delete, "Address", id, by: "u2") }),
            (119, { try await Self.add(["owner": .pointer("_User", "u1")], by: "u2", to: bag) }),
            (119, { try await bag.save(.update, "Address", id, ["owner": .pointer("_User", "u2")], by: "u1") }),
            (101, { try await Self.add(by: "", to: bag) }),
        ]
        for (code, work) in refused { #expect(await parseCode(work) == code) }
        let admin = Caller(userId: "boss", roles: ["admins"])
        #expect(try await bag.store.read { try $0.documentIfFound("Address", id, caller: admin) } == nil)
        #expect(try await bag.document("Address", id)?["city"] == "Oakland")
    }

    static let bad: [(JSON, Int)] = [
        (["city": ["a"]], 111), (["city": .string(String(repeating: "x", count: 201))], 142), (["city": "a\u{0}"], 142),
        (["label": "a\nb"], 142), (["default": "yes"], 111), (["planet": "Earth"], 119), (["label": ["$ne": "x"]], 111),
        (["city": ["__op": "Increment", "amount": 1]], 111),
    ]

    @Test(arguments: bad) func fieldsThatCannotBeAreRefused(fields: JSON, code: Int) async throws {
        let bag = try await BagStore()
        #expect(await parseCode { try await Self.add(fields, to: bag) } == code)
    }

    @Test func aCustomerHasAtMostFiftyAddresses() async throws {
        let bag = try await BagStore()
        for _ in 0..<AddressBook.perCustomerMax { try await Self.add(to: bag) }
        #expect(await parseCode { try await Self.add(to: bag) } == 142)
        try await Self.add(by: "u2", to: bag)
        #expect(try await Self.defaults(bag).count == 1)
    }

    @Test func aCheckoutTakesACopyOfAnAddress() async throws {
        let bag = try await BagStore()
        let (order, _) = try await bag.bag(of: "u1")
        let id = try await Self.add(["label": "Home", "city": "Berkeley", "zipcode": 94704], to: bag).objectId
        let parameters: JSON = ["addressId": .string(id), "shippingAddress": .null]
        #expect(await parseCode { _ = try await bag.start(parameters, by: "u2") } == 142)  // An empty bag comes first.
        let checkout = try await bag.start(parameters, by: "u1")
        try await bag.save(.delete, "Address", id, by: "u1")
        try await CheckoutLedgerTests.make(checkout, in: bag)
        let address = try #require(await bag.document("Order", order)?["shippingAddress"])
        #expect(address["city"] == "Berkeley")
        #expect(address["zipcode"] == "94704")
        #expect(address["lastName"] == "Example")
        #expect(address["label"] == nil)
        #expect(address["default"] == nil)
        #expect(address["owner"] == nil)
    }

    @Test func aCheckoutRefusesForeignAndIncompleteAddresses() async throws {
        let bag = try await BagStore()
        _ = try await bag.bag(of: "u1")
        let theirs = try await Self.add(by: "u2", to: bag).objectId
        let incomplete = try await Self.add(["city": .null], to: bag).objectId
        for (id, code) in [(theirs, 101), ("missing", 101), (incomplete, 142)] {
            #expect(
                await parseCode {
                    _ = try await bag.start(["addressId": .string(id), "shippingAddress": .null], by: "u1")
                } == code)
        }
        do {
            _ = try await bag.start(["addressId": .string(incomplete), "shippingAddress": .null], by: "u1")
        } catch let error as ParseError {
            #expect(error.details == ["missing": ["city"]])
        }
    }
}
