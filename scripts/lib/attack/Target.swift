import ArgumentParser
import Foundation
import NIOCore
import SuiteClient

/// The attacked suite: always on this machine, at a loopback address.
struct Target: Site {
    let host: String
    let port: Int
    /// The mount path, with a leading slash and without a trailing one.
    let mount: String
    let applicationId: String
    /// The suite's data directory, in which its processes, keys and the admin's password are found.
    let dataDirectory: String

    func address() throws -> SocketAddress { try SocketAddress(ipAddress: host, port: port) }

    /// - Throws: `AttackError` when the file cannot be read.
    func secret(_ file: String) throws -> String {
        guard let text = try? String(contentsOfFile: "\(dataDirectory)/\(file)", encoding: .utf8) else {
            throw AttackError("Cannot read \(dataDirectory)/\(file).")
        }
        return text.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}

struct TargetOptions: ParsableArguments {
    @Option(help: "The gateway's address, in 127.0.0.0/8. No other is attacked.") var host = "127.0.0.1"
    @Option(help: "The gateway's port.") var port: Int
    @Option(help: "The suite's data directory.") var data: String

    func validate() throws {
        let parts = host.split(separator: ".", omittingEmptySubsequences: false)
        guard parts.count == 4, parts[0] == "127", parts.allSatisfy({ UInt8($0) != nil }) else {
            throw ValidationError("--host must be in 127.0.0.0/8: nothing but this machine is attacked.")
        }
        guard (1...65_535).contains(port) else { throw ValidationError("--port is not a port.") }
    }

    var target: Target {
        let environment = ProcessInfo.processInfo.environment
        let mount = environment["SATCHEL_MOUNT"] ?? "/parse"
        return Target(
            host: host, port: port, mount: mount.hasPrefix("/") ? mount : "/\(mount)",
            applicationId: environment["SATCHEL_APP_ID"] ?? "satchel", dataDirectory: data)
    }
}

/// Why a run ends without a result. The description is printed.
package struct AttackError: Error, CustomStringConvertible {
    package let description: String

    init(_ description: String) { self.description = description }
}
