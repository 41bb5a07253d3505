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

/// The executable of all services; the name of the link by which it is started chooses one. Processes with the same
/// executable share the pages of its code.
@main
struct Program {
    static func main() async throws {
        let name = CommandLine.arguments.first?.split(separator: "/").last ?? ""
        switch name {
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
            FileHandle.standardError.write(Data("\(name) is not the name of a service.\n".utf8))
            exit(64)
        }
    }
}
