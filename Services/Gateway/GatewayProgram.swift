import Foundation
import MessageBus
import ParseProtocol
import ProcessKit

/// `gateway` serves HTTP; `gateway make-bus-keys FILE` writes new CURVE keys for a bus between hosts.
package enum GatewayProgram {
    package static func main() async throws {
        let arguments = CommandLine.arguments.dropFirst()
        switch arguments.first {
        case nil:
            do {
                try await runGateway()
            } catch {
                // Throwing out of `main` would end in a trap and a backtrace, which hide the configuration error.
                FileHandle.standardError.write(Data("The gateway cannot run: \(error)\n".utf8))
                exit(error is StartupProblem ? StartupProblem.exitStatus : 1)
            }
        case "make-bus-keys" where arguments.count == 2:
            try makeBusKeys(path: arguments[2])
        default:
            FileHandle.standardError.write(Data("usage: gateway | gateway make-bus-keys FILE\n".utf8))
            exit(64)
        }
    }

    private static func makeBusKeys(path: String) throws {
        let keys = Array(try CurveKeys.make().text.utf8)
        guard !FileManager.default.fileExists(atPath: path), (try? DurableFile.write(keys, to: path)) != nil else {
            FileHandle.standardError.write(Data("\(path) exists or cannot be written.\n".utf8))
            exit(1)
        }
    }
}
