import Logging
import Messages
import ObjectStore
import ParseProtocol
import PaymentsService
import ServiceKit
import ServiceSupport
import Testing

/// Payment methods belong to their owner, come only from the provider, and one is the default.
@Suite struct SandboxPaymentMethodTests {
    private let sandbox: SandboxStore
    private let provider: SandboxProvider

    init() async throws {
        sandbox = try await SandboxStore(paymentsPlan)
        provider = SandboxProvider(store: sandbox.store)
    }

    private func keep(_ token: String, for owner: String = "alice") async throws -> (id: String, customer: String) {
        let customer = try await provider.createCustomer(token: token, email: "a@example.com", key: Names.random(20))
        let method = try await sandbox.store.write { try PaymentMethods.keep(customer, owner: owner, in: $0) }
        return (try #require(method["objectId"]?.stringValue), customer.id)
    }

    private func isDefault(_ id: String) async throws -> Bool {
        try await sandbox.document("PaymentMethod", id)["default"] == true
    }

    @Test func attachingIsIdempotentAndDeclinesAsAtStripe() async throws {
        let first = try await provider.createCustomer(token: "tok_visa", email: nil, key: "k")
        #expect(try await provider.createCustomer(token: "tok_visa", email: nil, key: "k") == first)
        #expect(first.card.expirationMonth == 8)
        for token in ["tok_chargeDeclined", "tok_nope"] {
            await #expect(throws: ProviderFailure.self) {
                try await provider.createCustomer(token: token, email: nil, key: token)
            }
        }
        _ = try await provider.createCustomer(token: "tok_chargeCustomerFail", email: nil, key: "k2")
    }

    /// A provider that cannot delete one customer.
    private struct Stubborn: PaymentProvider {
        struct Away: Error {}
        let sandbox: SandboxProvider
        let kept: String
        func createCustomer(
            token: String, email: String?, key: String, for _: WorkShare?
        ) async throws -> ProviderCustomer { throw Away() }
        func charge(
            _ order: ChargeOrder, key: String, for _: WorkShare?
        ) async throws -> ProviderCharge { throw Away() }
        func findCharge(
            _ order: ChargeOrder, key: String, for _: WorkShare?
        ) async throws -> ProviderCharge? { throw Away() }
        func refund(
            _ order: RefundOrder, key: String, for _: WorkShare?
        ) async throws -> ProviderRefund { throw Away() }
        func deleteCustomer(_ id: String, for share: WorkShare?) async throws {
            if id == kept { throw Away() }
            try await sandbox.deleteCustomer(id, for: share)
        }
    }

    @Test func aCustomerThatCannotBeDeletedDoesNotHoldUpTheOthers() async throws {
        let first = try await keep("tok_visa")
        let second = try await keep("tok_amex")
        for method in [first, second] {
            try await sandbox.apply(.delete, "PaymentMethod", method.id, as: .user("alice"))
        }
        try await CustomerDeletions.removeDue(
            sandbox.store, Stubborn(sandbox: provider, kept: first.customer), Logger(label: "test"))
        #expect(try await sandbox.count("SELECT count(*) FROM forgottenCustomers") == 1)
        #expect(try await sandbox.count("SELECT count(*) FROM sandboxCustomers WHERE deleted = 1") == 1)
        try await CustomerDeletions.removeDue(sandbox.store, provider, Logger(label: "test"))
        #expect(try await sandbox.count("SELECT count(*) FROM forgottenCustomers") == 0)
    }

    @Test func aHundredCardsCanBeKept() async throws {
        for _ in 1...100 {
            #expect(try await sandbox.store.read { try PaymentMethods.hasRoom(for: "alice", in: $0) })
            _ = try await keep("tok_visa")
        }
        #expect(try await !sandbox.store.read { try PaymentMethods.hasRoom(for: "alice", in: $0) })
    }

    @Test func theFirstIsTheDefaultUntilAnotherIsChosen() async throws {
        let first = try await keep("tok_visa")
        let second = try await keep("tok_amex")
        #expect(try await isDefault(first.id))
        #expect(try await !isDefault(second.id))
        try await sandbox.apply(.update, "PaymentMethod", second.id, ["default": true], as: .user("alice"))
        #expect(try await !isDefault(first.id))
        #expect(try await isDefault(second.id))
    }

    @Test func deletingTheDefaultMakesAnotherTheDefaultAndForgetsTheCustomer() async throws {
        let first = try await keep("tok_visa")
        let second = try await keep("tok_amex")
        try await sandbox.apply(.delete, "PaymentMethod", first.id, as: .user("alice"))
        #expect(try await isDefault(second.id))
        #expect(try await sandbox.count("SELECT count(*) FROM forgottenCustomers") == 1)
        let charges = Charges(store: sandbox.store, provider: provider, logger: Logger(label: "test"))
        let charge = ChargeRequest.with {
            $0.operationID = "op"
            $0.orderID = "o"
            $0.userID = "alice"
            $0.amountMinorUnits = 1
            $0.currency = "usd"
            $0.customerID = first.customer
        }
        #expect(await parseError { _ = try await charges.charge(charge) }?.code == .objectNotFound)
    }

    @Test func savingOneAgainAnswersWithTheOneThereIs() async throws {
        let kept = try await keep("tok_visa")
        let object: JSON = [
            "stripeCustomerId": .string(kept.customer), "type": "Visa", "lastFourDigit": "9999",
            "owner": .pointer("_User", "alice"),
        ]
        let outcome = try await sandbox.apply(.create, "PaymentMethod", nil, object, as: .user("alice"))
        #expect(outcome.objectId == kept.id)
        #expect(try await sandbox.document("PaymentMethod", kept.id)["lastFourDigit"] == "4242")
        // Another user's customer, and a customer that does not exist.
        for (user, customer) in [("bob", kept.customer), ("alice", "cus_invented")] {
            let error = await parseError {
                try await sandbox.apply(
                    .create, "PaymentMethod", nil, ["stripeCustomerId": .string(customer)], as: .user(user))
            }
            #expect(error?.code == .operationForbidden)
        }
    }

    @Test func clientsChangeNothingButTheDefault() async throws {
        let kept = try await keep("tok_visa")
        let changes: [JSON] = [
            ["owner": .pointer("_User", "bob")], ["stripeCustomerId": "cus_other"], ["type": "Amex"],
            ["default": false],
            ["type": ["__op": "Delete"]],
        ]
        for change in changes {
            let error = await parseError {
                try await sandbox.apply(.update, "PaymentMethod", kept.id, change, as: .user("alice"))
            }
            #expect(error?.code == .operationForbidden)
        }
        let whole = try await sandbox.document("PaymentMethod", kept.id).objectValue ?? [:]
        let sent = whole.filter { !["objectId", "createdAt", "updatedAt"].contains($0.key) }
        try await sandbox.apply(.update, "PaymentMethod", kept.id, .object(sent), as: .user("alice"))
    }

    @Test func othersNeitherChangeNorDeleteIt() async throws {
        let kept = try await keep("tok_visa")
        for verb in [ProposedChange.Verb.update, .delete] {
            let error = await parseError {
                try await sandbox.apply(verb, "PaymentMethod", kept.id, ["default": true], as: .user("bob"))
            }
            #expect(error == .objectNotFound)
        }
    }

    @Test(
        arguments: [
            ["number": "x"], ["cvc": "123"], ["CVV2": 123], ["card_number": "1"], ["type": "4242 4242 4242 4242"],
            ["lastFourDigit": "4242424242424242"],
        ] as [JSON])
    func cardDataIsRefused(_ fields: JSON) async throws {
        let error = await parseError {
            try await sandbox.apply(.create, "PaymentMethod", nil, fields, as: .user("alice"))
        }
        #expect(error?.code == .validationError)
        #expect(error?.message.contains("token from the payment provider") == true)
    }
}
