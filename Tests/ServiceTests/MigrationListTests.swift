import AnalyticsService
import BagService
import CatalogService
import CrashService
import MailService
import ObjectStore
import ParseProtocol
import PaymentsService
import PushService
import ServiceKit
import Testing
import UsersService

/// The migrations that released files record. A program that lacks or renames one of them treats every shop's file as
/// one of a newer release. Each release adds its entries here.
@Suite struct MigrationListTests {
    @Test func whatReleasesRecordedIsKnownInItsOrder() {
        let users = usersPlan(hasher: PasswordHasher(cost: ScryptCost(parallelism: 1)), key: testAccountKey)
        let recorded: [(Migrations, [String])] = [
            (.serviceKit, ["service.1.tables"]),
            (catalogPlan(.standard).migrations, ["catalog.1.tables"]),
            (users.migrations, ["users.1.tables", "users.2.genderIsANumber", "users.3.plainSecrets"]),
            (bagPlan(.standard).migrations, ["bag.1.tables", "bag.2.orderStates"]),
            (paymentsPlan.migrations, ["payments.1.tables"]),
            (mailPlan.migrations, ["mail.1.tables"]),
            (pushPlan.migrations, ["push.1.tables"]),
            (analyticsPlan.migrations, ["analytics.1.tables"]),
            (crashPlan.migrations, ["crash.1.tables"]),
        ]
        for (migrations, known) in recorded {
            #expect(migrations.identifiers.starts(with: known), "\(migrations.identifiers)")
        }
    }
}
