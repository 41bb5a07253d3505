import BagService
import Logging
import Messages
import ObjectStore
import ParseProtocol
import ServiceSupport
import Testing

/// The recipients of order mails, and the destination data that an order stores.
@Suite struct OrderMailTests {
    private static func mails(_ bag: BagStore) throws -> [SendMailRequest] {
        try bag.events.all(MailCalls.send)
    }

    /// A paid order of u1, whose account has no address.
    private static func paid(
        _ parameters: JSON, email: String = "", copyTo: String = ""
    ) async throws -> (BagStore, order: String) {
        let bag = try await BagStore()
        let (order, _) = try await bag.bag(of: "u1")
        var copies = OrderCopies()
        copies.address = copyTo
        let ledger = CheckoutLedger(store: bag.store, outbox: bag.events, copies: copies)
        var wanted = parameters
        wanted["orderId"] = .string(order)
        let request = try CheckoutRequest(chargeToken: wanted)
        var customer = Customer(userId: "u1", email: email.isEmpty ? request.email ?? "" : email, profile: [:])
        customer.givenEmail = email.isEmpty ? request.email : nil
        let id = try await ledger.start(
            request, by: customer, keys: [],
            prices: Prices(asked: ["soap"], unitPriceMinorUnits: ["soap": 350]), for: nil)
        let runner = CheckoutRunner(
            ledger: ledger, steps: CheckoutLedgerTests.Catalog(), logger: Logger(label: "test"))
        _ = try #require(await runner.outcome(of: id, within: .seconds(20))).get()
        return (bag, order)
    }

    @Test func theConfirmationGoesToTheAddressThatCameWithTheOrder() async throws {
        let (bag, order) = try await Self.paid(["chargeToken": "tok_visa", "email": "ann@sheet.example"])
        let mail = try #require(try Self.mails(bag).first)
        #expect(try Self.mails(bag).count == 1)
        #expect(mail.toAddress == "ann@sheet.example")
        #expect(mail.template == "order-confirmation")
        #expect(mail.orderNumber == 1_000_001)
        // The address is unverified, so the quotas of such addresses count the mail.
        #expect(!mail.addressVerified)
        #expect(!mail.byShop)
        #expect(mail.userID == "u1")
        #expect(try await bag.document("Order", order)?["email"] == "ann@sheet.example")
        bag.events.forget()
        let contact = CustomerContact(email: "", isVerified: false)
        _ = try await bag.orders.perform(.init(.ship(Shipment()), by: nil), order, contact: contact, for: nil)
        #expect(try Self.mails(bag).map(\.toAddress) == ["ann@sheet.example"])
    }

    @Test func theAccountsAddressComesFirst() async throws {
        let (bag, order) = try await Self.paid(
            ["chargeToken": "tok_visa", "email": "other@sheet.example"], email: "ann@shop.example")
        #expect(try Self.mails(bag).map(\.toAddress) == ["ann@shop.example"])
        #expect(try await bag.document("Order", order)?["email"] == nil)
    }

    @Test func theShopGetsACopyAlsoOfAnOrderWithoutAnAddress() async throws {
        let (bag, _) = try await Self.paid(["chargeToken": "tok_visa"], copyTo: "orders@shop.example")
        let copy = try #require(try Self.mails(bag).first)
        #expect(try Self.mails(bag).count == 1)
        #expect(copy.toAddress == "orders@shop.example")
        #expect(copy.template == "order-confirmation")
        #expect(copy.byShop)
        let (both, _) = try await Self.paid(
            ["chargeToken": "tok_visa"], email: "ann@shop.example", copyTo: "orders@shop.example")
        #expect(try Self.mails(both).map(\.toAddress) == ["ann@shop.example", "orders@shop.example"])
    }

    @Test func anOrderPaidByASheetNeedsNoStoredAddress() async throws {
        let (bag, order) = try await Self.paid(["chargeToken": "tok_visa"])
        #expect(try await bag.document("Order", order)?["orderStatus"] == 1)
        #expect(try await bag.document("Order", order)?["shippingAddress"] == nil)
        let contact: JSON = [
            "name": ["givenName": "Ann", "familyName": "Example"],
            "postalAddress": ["street": "1 Road", "city": "Oakland", "postalCode": "94601"],
        ]
        let (other, second) = try await Self.paid(["chargeToken": "tok_visa", "shippingContact": contact])
        let address = try await other.document("Order", second)?["shippingAddress"]
        #expect(address?["address1"] == "1 Road")
        #expect(address?["lastName"] == "Example")
        #expect(address?["phone"] == nil)
    }

    @Test func aSheetsAddressThatNobodyCanDeliverToIsRefused() async throws {
        let bag = try await BagStore()
        let (order, _) = try await bag.bag(of: "u1")
        let request = try CheckoutRequest(chargeToken: [
            "orderId": .string(order), "chargeToken": "tok_visa", "shippingContact": ["givenName": "Ann"],
        ])
        let code = await parseCode {
            _ = try await bag.ledger.start(
                request, by: Customer(userId: "u1", email: "", profile: [:]), keys: [],
                prices: Prices(asked: ["soap"], unitPriceMinorUnits: ["soap": 350]), for: nil)
        }
        #expect(code == 142)
    }

    @Test func aDeletedAccountsOrderForgetsTheAddress() async throws {
        let (bag, order) = try await Self.paid(["chargeToken": "tok_visa", "email": "ann@sheet.example"])
        try await bag.store.write { try AccountDeletion.forget("u1", in: $0) }
        #expect(try await bag.document("Order", order)?["email"] == nil)
    }

    @Test func onlyTheServerWritesTheAddressOfAnOrder() async throws {
        let bag = try await BagStore()
        let (order, _) = try await bag.bag(of: "u1")
        let code = await parseCode {
            try await bag.save(.update, "Order", order, ["email": "x@shop.example"], by: "u1")
        }
        #expect(code == 119)
    }
}
