import AnalyticsService
import BagService
import CatalogService
import CloudService
import CrashService
import Foundation
import Logging
import MailService
import MessageBus
import ObjectStore
import ParseProtocol
import PaymentsService
import ProcessKit
import PushService
import ServiceKit
import UsersService
import WebService

/// Every service except the gateway, built like its process with default settings. None of them runs.
struct BuiltServices {
    /// The kinds of calls that each service answers, by service name.
    let answered: [String: Set<String>]
    /// The services with classes, in alphabetical order.
    let keepers: [String]
    /// The stored waits that each service registers.
    let waits: [String: [StoredWaits]]

    init() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "built-\(Names.random(12))").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var answered: [String: Set<String>] = [:]
        var keepers: [String] = []
        var waits: [String: [StoredWaits]] = [:]

        func add(
            _ plan: ServicePlan, _ build: (_ host: ServiceHost, _ routes: inout ServiceRoutes) throws -> Void
        ) throws {
            let settings = Settings(["SATCHEL_DATA": directory, "SATCHEL_BUS": "tcp://127.0.0.1:9"])
            let host = try ServiceHost(
                plan: plan, configuration: ServiceConfiguration(service: plan.name, settings: settings),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            defer { host.store.stop() }
            answered[plan.name] = try ServiceRoutes(host: host, build: build).kinds
            waits[plan.name] = host.waits
            if !plan.classes.isEmpty { keepers.append(plan.name) }
        }

        try add(analyticsPlan, buildAnalytics)
        try add(bagPlan(.standard)) { try buildBag($0, &$1, .standard) }
        try add(catalogPlan(.standard)) { try buildCatalog($0, &$1, .standard) }
        try add(cloudPlan, buildCloud)
        try add(crashPlan, buildCrash)
        try add(mailPlan, buildMail)
        try add(paymentsPlan) { try buildPayments($0, &$1) }
        try add(pushPlan, buildPush)
        let hasher = PasswordHasher(cost: ScryptCost(parallelism: 1))
        let means = AccountDependencies(
            hasher: hasher, providers: IdentityProviders(), settings: UsersSettings(), key: testAccountKey)
        try add(usersPlan(means)) { buildUsers($0, &$1, means, signIns: hasher) }

        answered[WebAnswers.service] = WebAnswers.kinds
        self.answered = answered
        self.waits = waits
        self.keepers = keepers.sorted()
    }
}

/// A test key for accounts.
let testAccountKey = AccountKey((0..<UInt8(AccountKey.bytes)).map { $0 })
