import AnalyticsService
import BagService
import CatalogService
import Configuration
import CrashService
import Foundation
import Logging
import MailService
import MessageBus
import ObjectStore
import ParseProtocol
import PaymentsService
import PushService
import ServiceKit
import UsersService

/// Every service but the gateway, built as its process builds it with the standard settings. None of them runs.
struct BuiltServices {
    /// The kinds that each service answers, by its name.
    let answered: [String: Set<String>]
    /// The services with classes, in alphabetical order.
    let keepers: [String]

    init() throws {
        let directory = FileManager.default.temporaryDirectory.appending(path: "built-\(Names.random(12))").path
        defer { try? FileManager.default.removeItem(atPath: directory) }
        var answered: [String: Set<String>] = [:]
        var keepers: [String] = []

        func add(
            _ plan: ServicePlan, _ build: (_ host: ServiceHost, _ routes: inout ServiceRoutes) throws -> Void
        ) throws {
            let settings = ["SATCHEL_DATA": directory, "SATCHEL_BUS": "tcp://127.0.0.1:9"]
            let reader = ConfigReader(provider: EnvironmentVariablesProvider(environmentVariables: settings))
            let host = try ServiceHost(
                plan: plan, configuration: ServiceConfiguration(service: plan.name, reader: reader),
                logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() })
            defer { host.store.stop() }
            answered[plan.name] = try ServiceRoutes(host: host, build: build).kinds
            if !plan.classes.isEmpty { keepers.append(plan.name) }
        }

        try add(analyticsPlan, buildAnalytics)
        let bag = HostLink()
        try add(bagPlan(bag)) { try buildBag($0, &$1, bag) }
        let catalog = CatalogLink()
        try add(catalogPlan(.standard, catalog)) { try buildCatalog($0, &$1, .standard, catalog) }
        try add(crashPlan, buildCrash)
        try add(mailPlan, buildMail)
        try add(paymentsPlan, buildPayments)
        try add(pushPlan, buildPush)
        let hasher = PasswordHasher(cost: ScryptCost(parallelism: 1))
        let rules = UserRules(
            hasher: hasher, providers: IdentityProviders(), settings: UsersSettings(), messages: AccountMessages(),
            key: testAccountKey)
        try add(usersPlan(rules)) { buildUsers($0, &$1, rules: rules, signIns: hasher) }

        self.answered = answered
        self.keepers = keepers.sorted()
    }
}
