import BagService
import Foundation
import Logging
import Messages
import ObjectStore
import ParseProtocol
import ServiceKit
import ServiceSupport
import SwiftProtobuf
import Synchronization

/// The bag's classes and tables in a temporary file, with rules applied as the service applies them.
final class BagStore: Sendable {
    let store: ClassStore
    let ledger: CheckoutLedger
    let orders: OrderLedger
    let refunds: RefundLedger
    let events = Events()
    private let rules: [String: any ClassRules]
    private let directory: String

    init() async throws {
        directory = NSTemporaryDirectory() + "bag-" + Names.random(10)
        let plan = bagPlan(.standard)
        var logger = Logger(label: "test")
        logger.logLevel = .critical
        store = try ClassStore(
            testDatabase("bag", in: URL(fileURLWithPath: directory)), classes: plan.classes, allowClassCreation: false,
            allowCustomObjectId: false,
            migrations: [plan.migrations], logger: logger)
        rules = try plan.classRules(over: store, in: directory)
        ledger = CheckoutLedger(store: store, outbox: events)
        orders = OrderLedger(store: store, outbox: events, currency: .standard)
        refunds = RefundLedger(store: store, outbox: events, currency: .standard)
        await withCheckedContinuation { started in store.startWriting { started.resume() } }
    }

    deinit {
        store.stop()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// The messages that would have gone into the outbox.
    final class Events: EventSink {
        private let added = Mutex<[(kind: String, key: String, body: [UInt8])]>([])
        /// A second message with the same key is ignored, as in the outbox.
        func add<Request, Reply>(
            _ call: Call<Request, Reply>, _ message: Request, key: String, in transaction: StoreTransaction
        ) throws {
            let body: [UInt8] = try message.serializedBytes()
            added.withLock { added in
                if !added.contains(where: { $0.key == key }) { added.append((call.kind, key, body)) }
            }
        }
        var kinds: [String] { added.withLock { $0.map(\.kind) } }

        /// The messages of one call.
        func all<Request, Reply>(_ call: Call<Request, Reply>) throws -> [Request] {
            try added.withLock { $0.filter { $0.kind == call.kind } }.map { try Request(serializedBytes: $0.body) }
        }
        func forget() { added.withLock { $0 = [] } }
    }

    /// A client's save or delete through the class's rules. `prices` replaces the catalog's answer to `prepare`.
    @discardableResult
    func save(
        _ verb: ProposedChange.Verb = .create, _ className: String, _ objectId: String? = nil, _ object: JSON = [:],
        by userId: String, prices: JSON = ["soap": 350, "comb": 1200, "secret": 1]
    ) async throws -> ChangeOutcome {
        try await save(verb, className, objectId, object, as: Principal.with { $0.userID = userId }, prices: prices)
    }

    @discardableResult
    func save(
        _ verb: ProposedChange.Verb, _ className: String, _ objectId: String?, _ object: JSON, as principal: Principal,
        prices: JSON = [:], proposedId: String? = nil
    ) async throws -> ChangeOutcome {
        var change = ProposedChange(
            verb: verb, className: className, objectId: objectId, proposedId: proposedId, object: object,
            principal: principal, for: nil)
        change.notes["prices"] = prices
        let proposed = change
        let rules = rules[className]
        return try await store.write { try ServiceRoutes.apply(proposed, rules, in: $0) }
    }

    func document(_ className: String, _ objectId: String) async throws -> JSON? {
        try await store.read { try $0.documentIfFound(className, objectId, caller: .master) }
    }

    /// A bag with one line, as an app creates it by saving objects. Returns the ids of the order and the line.
    func bag(
        of userId: String, product: String = "soap", quantity: Int64 = 2
    ) async throws -> (order: String, item: String) {
        let item = try await save(
            .create, "OrderItem", nil, ["product": .pointer("Product", product), "quantity": .int(quantity)], by: userId
        )
        let order = try await save(
            .create, "Order", nil, ["items": [.pointer("OrderItem", item.objectId)]], by: userId)
        return (order.objectId, item.objectId)
    }

    static let address: JSON = [
        "firstName": "Ann", "lastName": "Example", "phone": "1", "address1": "1 Road", "city": "Oakland", "state": "CA",
        "zipcode": "94601",
    ]

    /// Starts a checkout of the customer's order with a complete address.
    func start(
        _ parameters: JSON = [:], by userId: String, keys: [String] = [], prices: [String: Int64]? = nil,
        began: @escaping @Sendable (Checkout) -> Void = { _ in }
    ) async throws -> String {
        var wanted: JSON = ["tokenId": "tok_visa", "shippingAddress": Self.address]
        for (name, value) in parameters.objectValue ?? [:] { wanted[name] = value }
        return try await ledger.start(
            try CheckoutRequest(checkout: wanted),
            by: Customer(userId: userId, email: "ann@shop.example", profile: nil),
            keys: keys,
            prices: Prices(
                asked: ["soap", "comb", "secret"], unitPriceMinorUnits: prices ?? ["soap": 350, "comb": 1200]),
            for: nil, began: began)
    }
}

/// The kinds of these calls in alphabetical order.
func sortedKinds(_ calls: [any DeclaredCall]...) -> [String] { calls.joined().map { $0.kind }.sorted() }
