import ParseProtocol
import PaymentsService
import ServiceSupport
import Testing

/// The sandbox as cloud code sees it through the Stripe module: supported requests behave as at Stripe, with the shop's
/// own records; unsupported ones get a clear error.
@Suite struct SandboxAPITests {
    private let sandbox: SandboxStore
    private let desk: SandboxAPI

    init() async throws {
        sandbox = try await SandboxStore(paymentsPlan)
        desk = SandboxAPI(store: sandbox.store)
    }

    private func ask(
        _ method: String, _ path: [String], _ form: [[String]] = [], key: String = Names.random(20)
    ) async throws -> StripeAnswer {
        let request = try StripeRequest([
            "method": .string(method), "path": .array(path.map(JSON.string)),
            "form": .array(form.map { .array($0.map(JSON.string)) }),
        ])
        return try await desk.answer(request, key: key, for: nil)
    }

    private static let usual = [["amount", "1999"], ["currency", "USD"], ["source", "tok_visa"]]

    private func charge(key: String = Names.random(20)) async throws -> StripeAnswer {
        try await ask("POST", ["charges"], Self.usual, key: key)
    }

    private func code(_ answer: StripeAnswer) -> String { answer.body["error"]?["code"]?.stringValue ?? "" }

    @Test func aCustomerIsMadeOnceShownChangedAndDeleted() async throws {
        let form = [["card", "tok_visa"], ["email", "ann@example.com"], ["metadata[app]", "shop"]]
        let made = try await ask("POST", ["customers"], form, key: "k").body
        #expect(try await ask("POST", ["customers"], form, key: "k").body == made)
        let id = try #require(made["id"]?.stringValue)
        #expect(id.hasPrefix("cus_"))
        #expect(made["email"] == "ann@example.com")
        #expect(made["sources"]?["data"]?.arrayValue?.first?["last4"] == "4242")
        #expect(try await ask("GET", ["customers", id]).body == made)
        let changed = try await ask("POST", ["customers", id], [["source", "tok_amex"]]).body
        #expect(changed["email"] == "ann@example.com")
        #expect(changed["sources"]?["data"]?.arrayValue?.first?["brand"] == "American Express")
        for _ in 0..<2 { #expect(try await ask("DELETE", ["customers", id]).body["deleted"] == true) }
        #expect(try await ask("GET", ["customers", id]).body["deleted"] == true)
        let late = try await ask("POST", ["charges"], [["amount", "50"], ["currency", "usd"], ["customer", id]])
        #expect(late.status == 400)
        #expect(code(late) == "resource_missing")
    }

    @Test func aCustomerOfTheShopsIsChargedToo() async throws {
        let customer = try await SandboxProvider(store: sandbox.store).createCustomer(
            token: "tok_mastercard", email: nil, key: "shop")
        let form = [["amount", "1999"], ["currency", "usd"], ["customer", customer.id]]
        let charge = try await ask("POST", ["charges"], form).body
        #expect(charge["customer"] == .string(customer.id))
        #expect(charge["source"]?["last4"] == "4444")
    }

    @Test func aChargeIsMadeOnceForItsKey() async throws {
        let first = try await charge(key: "k")
        #expect(first.status == 200)
        #expect(first.body["amount"] == 1999)
        #expect(first.body["currency"] == "usd")
        #expect(first.body["paid"] == true)
        #expect(first.body["customer"] == .null)
        #expect(try await charge(key: "k") == first)
        #expect(try await sandbox.count("SELECT count(*) FROM sandboxCharges") == 1)
        let id = try #require(first.body["id"]?.stringValue)
        #expect(try await ask("GET", ["charges", id]) == first)
    }

    @Test func aChargeIsGivenBackUntilNothingIsLeft() async throws {
        let id = try #require(try await charge().body["id"]?.stringValue)
        let path = ["charges", id, "refund"]
        for _ in 0..<2 {
            let part = try await ask("POST", path, [["amount", "700"]], key: "part").body
            #expect(part["amount_refunded"] == 700)
            #expect(part["refunded"] == false)
        }
        for _ in 0..<2 {
            let rest = try await ask("POST", path, key: "rest").body
            #expect(rest["amount_refunded"] == 1999)
            #expect(rest["refunded"] == true)
        }
        for form in [[], [["amount", "1"]]] {
            let late = try await ask("POST", path, form)
            #expect(late.status == 400)
            #expect(code(late) == "charge_already_refunded")
        }
        #expect(try await sandbox.count("SELECT sum(amount) FROM sandboxRefunds") == 1999)
    }

    @Test func aDeclinedCardIsACardError() async throws {
        let form = [["amount", "1999"], ["currency", "usd"], ["source", "tok_chargeDeclinedInsufficientFunds"]]
        let declined = try await ask("POST", ["charges"], form)
        #expect(declined.status == 402)
        #expect(declined.body["error"]?["type"] == "card_error")
        #expect(declined.body["error"]?["decline_code"] == "insufficient_funds")
        #expect(declined.body["error"]?["message"] == "Your card has insufficient funds.")
    }

    @Test(
        arguments: [
            ("amount", "0", "parameter_invalid_integer"), ("amount", "-5", "parameter_invalid_integer"),
            ("amount", "3.5", "parameter_invalid_integer"), ("amount", "", "parameter_invalid_integer"),
            ("amount", "100000000", "invalid_charge_amount"), ("currency", "xyz", "invalid_currency"),
            // 19.99 krónur: Stripe counts two decimals that must be zero.
            ("currency", "isk", "invalid_charge_amount"), ("source", "tok_nope", "resource_missing"),
            ("capture", "false", "parameter_unknown"), ("customer", "cus_1", "parameter_invalid"),
        ])
    func whatStripeWouldNotChargeIsRefused(_ name: String, _ value: String, _ expected: String) async throws {
        let form = Self.usual.filter { $0[0] != name } + [[name, value]]
        let refused = try await ask("POST", ["charges"], form)
        #expect(refused.status == 400)
        #expect(code(refused) == expected)
        #expect(try await sandbox.count("SELECT count(*) FROM sandboxCharges WHERE failure IS NULL") == 0)
    }

    @Test(arguments: ["amount", "currency", "source"])
    func whatIsMissingIsNamed(_ name: String) async throws {
        let refused = try await ask("POST", ["charges"], Self.usual.filter { $0[0] != name })
        #expect(refused.body["error"]?["message"] == .string("Missing required param: \(name)."))
    }

    @Test(
        arguments: [
            ("GET", ["charges", "ch_none"]), ("POST", ["charges", "ch_none", "refund"]),
            ("GET", ["customers", "cus_none"]), ("POST", ["customers", "cus_none"]),
            ("DELETE", ["customers", "cus_none"]),
        ] as [(String, [String])])
    func whatIsNotThereIsMissing(_ method: String, _ path: [String]) async throws {
        let missing = try await ask(method, path)
        #expect(missing.status == 404)
        #expect(code(missing) == "resource_missing")
    }

    @Test(
        arguments: [
            ("GET", ["charges"]), ("GET", ["customers"]), ("POST", ["charges", "ch_1"]), ("POST", ["tokens"]),
            ("POST", ["plans"]), ("POST", ["customers", "cus_1", "subscription"]),
            ("POST", ["invoices", "in_1", "pay"]),
        ] as [(String, [String])])
    func whatTheSandboxDoesNotHaveItSays(_ method: String, _ path: [String]) async throws {
        let refused = try await ask(method, path)
        #expect(refused.status == 400)
        #expect(refused.body["error"]?["type"] == "invalid_request_error")
        let message = refused.body["error"]?["message"]?.stringValue ?? ""
        #expect(message.hasPrefix("The sandbox does not have \(method) /v1/\(path[0])"))
    }
}
