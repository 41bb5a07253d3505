import AnalyticsService
import BagService
import Books
import CatalogService
import CrashService
import Foundation
import Logging
import MailService
import Messages
import ObjectStore
import ParseProtocol
import PaymentsService
import PushService
import ServiceKit
import ServiceSupport
import Testing
import UsersService

/// Every service creates its classes and tables in a new database, in SQLite and in PostgreSQL.
@Suite struct ServiceTablesTests {
    private static var plans: [String: ServicePlan] {
        let users = usersPlan(hasher: PasswordHasher(cost: ScryptCost(parallelism: 1)), key: testAccountKey)
        let all = [
            catalogPlan(.standard), users, bagPlan(.standard), paymentsPlan, mailPlan, pushPlan, analyticsPlan,
            crashPlan,
        ]
        return Dictionary(all.map { ($0.name, $0) }) { first, _ in first }
    }

    @Test(arguments: ["catalog", "users", "bag", "payments", "mail", "push", "analytics", "crash"])
    func aNewDatabaseGetsThem(_ service: String) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tables-\(Names.random(12))")
        defer { try? FileManager.default.removeItem(at: folder) }
        let plan = try #require(Self.plans[service])
        let lists: [Migrations] = [.serviceKit, plan.migrations]
        let store = try ClassStore(
            testDatabase(service, in: folder), classes: plan.classes, allowClassCreation: false,
            allowCustomObjectId: false, migrations: lists, logger: Logger(label: "test"))
        defer { store.stop() }
        let refusal: DatabaseRefused? = await withCheckedContinuation { continuation in
            store.startWriting(refused: { continuation.resume(returning: $0) }) {
                continuation.resume(returning: nil)
            }
        }
        #expect(refusal == nil)
        let recorded = try await store.read { reader in
            Set(try reader.rows("SELECT identifier FROM grdb_migrations").map { try $0.text(0) })
        }
        #expect(recorded.isSuperset(of: lists.flatMap(\.identifiers)))
    }

    /// Each service's tables with rows that wait for a time, except for dates chosen by an operator.
    private static let waiting: [String: [String]] = [
        "catalog": ["bucketDrops", "outbox", "reservations"], "users": ["mailQuota", "outbox", "signInFailures"],
        "bag": ["outbox"], "payments": ["outbox", "refunds"],
        "mail": ["mailAllowances", "mails", "outbox"], "push": ["deliveries", "outbox", "pushes"],
        "analytics": ["outbox"], "crash": ["outbox"],
    ]

    /// A clock that was set back leaves times far in the future, here 40 days.
    @Test(arguments: ["catalog", "users", "bag", "payments", "mail", "push", "analytics", "crash"])
    func storedWaitsEndAfterTheClockIsSetBack(_ service: String) async throws {
        let sandbox = try await SandboxStore(try #require(Self.plans[service]))
        let waits = try #require(BuiltServices().waits[service])
        #expect(waits.map(\.table).sorted() == Self.waiting[service])
        try await sandbox.store.write { transaction in
            _ = try transaction.execute(
                "INSERT INTO outbox(key, kind, body, dueAt) VALUES (?, ?, ?, ?)",
                ["late", "mail.note.v1", .blob([1]), .int(transaction.now.milliseconds + 40 * 86_400_000)])
        }
        // Each table's SQL is valid for the engine.
        for each in waits { #expect(try await each.shorten(in: sandbox.store) == (each.table == "outbox" ? 1 : 0)) }
        let left = try await sandbox.store.read { reader in
            try reader.rows("SELECT 1 AS found FROM outbox WHERE dueAt > ?", [.int(Timestamp.now.milliseconds)]).count
        }
        #expect(left == 0)
    }

    /// The SQL of each check is valid for the engine.
    @Test(arguments: ObjectCalls.bookkeepers) func theBooksOfANewDatabaseAreClean(_ service: String) async throws {
        let sandbox = try await SandboxStore(try #require(Self.plans[service]))
        func answer(_ question: JSON) async throws -> JSON {
            try await sandbox.store.read { try ServiceBooks($0, files: nil).answer(question) }
        }
        for check in BookCheck.all where check.service == service {
            #expect(try await answer(["check": .string(check.name)])["found"] == [], "\(check.name)")
        }
        for list in BookList.all where list.service == service {
            #expect(try await answer(["list": .string(list.name)])["rows"] == [], "\(list.name)")
        }
    }

    /// A new suite has a first crash project, and the next project gets the next number.
    @Test func theFirstProjectHasTheFirstNumber() async throws {
        let sandbox = try await SandboxStore(crashPlan)
        let keys = try await sandbox.store.read { reader in
            try reader.rows("SELECT publicKey FROM crashKeys WHERE projectId = 1").map { try $0.text(0) }
        }
        #expect(keys.count == 1)
        #expect(keys.allSatisfy { $0.count == 32 && $0.allSatisfy(\.isHexDigit) })
        let next = try await sandbox.store.write { transaction in
            try transaction.rows(
                "INSERT INTO crashProjects(name, createdAt) VALUES (?, ?) RETURNING id", ["second", 1]
            ).first?.int("id")
        }
        #expect(next == 2)
    }
}
