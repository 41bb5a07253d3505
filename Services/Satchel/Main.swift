import AnalyticsService
import BagService
import CatalogService
import CloudService
import CrashService
import Foundation
import GatewayService
import MailService
import PaymentsService
import PushService
import UsersService
import WebService

/// The executable of all services. The name of the link by which it is started chooses one, and without such a link its
/// first argument. Processes with the same executable share the pages of its code.
@main
struct Program {
    static func main() async throws {
        switch CommandLine.arguments.first?.split(separator: "/").last ?? "" {
        case "gateway": try await GatewayProgram.main()
        case "catalog": await CatalogProgram.main()
        case "users": await UsersProgram.main()
        case "bag": await BagProgram.main()
        case "payments": await PaymentsProgram.main()
        case "mail": await MailProgram.main()
        case "push": await PushProgram.main()
        case "analytics": await AnalyticsProgram.main()
        case "crash": await CrashProgram.main()
        case "cloud": await CloudProgram.main()
        case "web": await WebProgram.main()
        default:
            startAgain(CommandLine.arguments.dropFirst())
            let text = """
                Name the service: satchel NAME, or a link NAME to satchel. NAME is gateway, catalog, users, bag, \
                payments, mail, push, analytics, crash, cloud or web.

                """
            FileHandle.standardError.write(Data(text.utf8))
            exit(64)
        }
    }

    /// Replaces the process by itself with these arguments, the first of which is the service's name. Returns when
    /// there are none.
    private static func startAgain(_ arguments: ArraySlice<String>) {
        guard !arguments.isEmpty else { return }
        let words: [UnsafeMutablePointer<CChar>?] = arguments.map { strdup($0) } + [nil]
        execv("/proc/self/exe", words)
    }
}
