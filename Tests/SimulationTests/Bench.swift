import BagService
import Books
import CatalogService
import Foundation
import Logging
import MailService
import ObjectStore
import ParseProtocol
import PaymentsService
import ProcessKit
import ServiceKit
import VirtualThread

/// What all seeds share: the databases, which a seed leaves as it found them, and parts that never change.
final class Bench: BookSource, @unchecked Sendable {
    struct Bag {
        let customer: String
        let order: String
    }

    static let logger = Logger(label: "simulation") { _ in SwiftLogNoOpLogHandler() }
    /// The stock of each product at the start; the bags of customers 0 and 1 together want more of the first one.
    static let stock: [Int64] = [3, 10]
    private static let shoppers = 3
    /// Background work that had nothing to do in seeds 1 to 500: backfills, contacts and deletions of customers, keys
    /// older than a day, waits after the clock was set back. A parked message fails the seed, so none may return.
    static let idleWorks: Set<String> = [
        "customers", "customers.contacts", "orders.entries", "checkouts.keys", "waits", "outbox.parked",
    ]

    let services = ["catalog", "payments", "mail", "bag"]
    let databases: [String: MemoryDatabase]
    let composer: MailComposer
    private let plans: [String: ServicePlan]
    private let hostPlans: [String: ServicePlan]
    private let configurations: [String: ServiceConfiguration]
    private(set) var remote: Remote?
    private(set) var products: [String] = []
    private(set) var bags: [Bag] = []
    private var books: [String: ServiceBooks] = [:]
    private(set) var productTable = ""

    /// Runs on the thread that later runs the seeds.
    init() throws {
        let plans = [
            "bag": bagPlan(.standard), "catalog": catalogPlan(.standard), "mail": mailPlan, "payments": paymentsPlan,
        ]
        self.plans = plans
        var hostPlans = plans
        // Without the rules of the classes, which need files.
        hostPlans["catalog"] = ServicePlan(name: "catalog", classes: plans["catalog"]?.classes ?? [])
        self.hostPlans = hostPlans
        databases = try plans.mapValues { _ in try MemoryDatabase() }
        let settings = Settings([
            "SATCHEL_DATA": "/nowhere", "SATCHEL_BUS": "ipc:///nowhere", "SATCHEL_QUOTAS": "off",
            "SATCHEL_READ_CACHE": "off", "SATCHEL_PAYMENT_UNDECIDED_SECONDS": "20",
        ])
        configurations = try plans.mapValues { try ServiceConfiguration(service: $0.name, settings: settings) }
        guard let sender = MailAddress("shop@shop.example", name: "Shop") else { throw ParseError.internalError }
        composer = MailComposer(sender: sender, shopName: "Shop", templates: try Self.shortTemplates())
        remote = try Remote(self)
        try fill()
        for (service, database) in databases {
            try database.keep()
            books[service] = try Self.books(database)
        }
    }

    /// Templates of one line: nobody reads these mails.
    private static func shortTemplates() throws -> MailTemplates {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("satchel-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        for (name, kind) in MailTemplates.kinds where name.hasPrefix("order-") {
            for part in ["subject", "text", "html"] {
                try Data(kind.requiredTag.utf8).write(
                    to: folder.appendingPathComponent("\(name).\(part).mustache"))
            }
        }
        return try MailTemplates(replacements: folder.path)
    }

    func configuration(of service: String) throws -> ServiceConfiguration {
        guard let configuration = configurations[service] else { throw ParseError.internalError }
        return configuration
    }

    /// A store of a service, and the plan for its host.
    func store(of service: String, on stage: any MemoryStage) throws -> (plan: ServicePlan, store: ClassStore) {
        guard let plan = plans[service], let hostPlan = hostPlans[service] else { throw ParseError.internalError }
        let store = try ClassStore(
            .file(path: ":memory:"), classes: plan.classes, allowClassCreation: false, allowCustomObjectId: false,
            migrations: [.serviceKit, plan.migrations], stage: stage, logger: Self.logger)
        return (hostPlan, store)
    }

    /// Adds products, and customers with a bag.
    private func fill() throws {
        let thread = VirtualThread(seed: 0)
        thread.begin()
        defer { thread.end() }
        guard thread.isInControl() else { throw StartupProblem("This Swift runtime's tasks cannot be simulated.") }
        let world = World(self, thread, seed: 0, Options(allowed: []))
        world.startAll()
        Task {
            do {
                guard let catalog = world.leader(of: "catalog")?.host else { throw ParseError.internalError }
                for (number, stock) in Self.stock.enumerated() {
                    let product: JSON = [
                        "name": .string("Product \(number)"), "unitPrice": .double(Double(number) + 3.5),
                        "stock": .int(stock),
                    ]
                    products.append(
                        try await catalog.store.write(for: nil) {
                            try $0.create("Product", product, caller: .master).objectId
                        })
                }
                try await catalog.store.write(for: nil) { try StockLedger.open(in: $0) }
                for number in 0..<Self.shoppers {
                    let shopper = Shopper(world, number: number, customer: "customer\(number)", order: "")
                    for (place, product) in products.prefix(number == 1 ? 2 : 1).enumerated() {
                        let quantity: Int64 = number < 2 && place == 0 ? 2 : 1
                        _ = try await shopper.ask(
                            "addToBag", ["productId": .string(product), "quantity": .int(quantity)]
                        ).get()
                    }
                }
            } catch {
                world.findings.append("The shop could not be filled: \(error)")
            }
            world.isDone = true
        }
        while !world.isDone, thread.step() {}
        world.end()
        while thread.step() {}
        world.forget()
        if let problem = world.findings.first { throw StartupProblem(problem) }
        guard let bag = databases["bag"], let catalog = databases["catalog"] else { throw ParseError.internalError }
        let orderTable = try Self.table("Order", bag)
        let orders = try bag.rows(
            """
            SELECT objectId, json_extract(doc, '$.customer.objectId') AS customer FROM \(orderTable) ORDER BY customer
            """)
        bags = try orders.map { Bag(customer: try $0.text("customer"), order: try $0.text("objectId")) }
        productTable = try Self.table("Product", catalog)
        guard bags.count == Self.shoppers else { throw StartupProblem("The shop has \(bags.count) bags.") }
    }

    private static func table(_ className: String, _ database: MemoryDatabase) throws -> String {
        let rows = try database.rows("SELECT id FROM classes WHERE name = ?", [.text(className)])
        return "o\(try rows.first?.int("id") ?? 0)"
    }

    // MARK: The books

    /// The time that the checks get: later than their limits of age, and before rows are forgotten. It never changes,
    /// so that statements stay prepared.
    static let checkedAt = Timestamp(milliseconds: Int64(VirtualThread.startSeconds) * 1000 + 40 * 86_400_000)

    private static func books(_ database: MemoryDatabase) throws -> ServiceBooks {
        try ServiceBooks(isPostgreSQL: false, now: checkedAt.milliseconds, files: nil, countsRows: false) {
            sql, columns, after, limit in
            try database.rows(sql, after.map { [.text($0), .int(limit)] } ?? []).map { row in
                var values: [String: BookValue] = [:]
                for column in columns {
                    switch try row[column] {
                    case .text(let text): values[column] = .text(text)
                    case .int(let number): values[column] = .int(number)
                    case .real(let number): values[column] = .int(Int64(number.rounded()))
                    case .null, .blob: break
                    }
                }
                return values
            }
        }
    }

    func answer(_ question: JSON, by service: String) throws -> JSON {
        guard let books = books[service] else { throw ParseError(.serviceUnavailable, "It is not simulated.") }
        return try books.answer(question)
    }

    /// Removes everything that a seed stored.
    func revert() throws {
        for database in databases.values { try database.revert() }
    }
}
