import Foundation
import ParseProtocol

/// The gateway's address and master key. The services use the same variables.
struct GatewayOptions {
    /// The gateway's URL with its mount path, if given.
    let url: String?

    init(_ arguments: Arguments) { url = arguments["url"] }

    /// - Throws: `SetupError.invalid` for an unusable URL or when there is no master key.
    func endpoint() throws -> Endpoint {
        let environment = ProcessInfo.processInfo.environment
        let mount = environment["SATCHEL_MOUNT"] ?? "/parse"
        let host = environment["SATCHEL_HOST"] ?? "127.0.0.1"
        let port = environment["SATCHEL_PORT"] ?? "1337"
        let text = url ?? environment["SATCHEL_PUBLIC_URL"] ?? "http://\(host):\(port)\(mount)"
        guard var parts = URLComponents(string: text), parts.scheme == "http" || parts.scheme == "https",
            parts.host?.isEmpty == false, parts.query == nil
        else { throw SetupError.invalid("\"\(text)\" is not an http or https URL.") }
        while parts.path.hasSuffix("/") { parts.path.removeLast() }
        if parts.path.isEmpty { parts.path = mount }
        guard let base = parts.string else { throw SetupError.invalid("\"\(text)\" is not an http or https URL.") }
        return Endpoint(
            base: base, mount: parts.path, applicationId: environment["SATCHEL_APP_ID"] ?? "satchel",
            masterKey: try masterKey(environment))
    }

    private func masterKey(_ environment: [String: String]) throws -> String {
        if let key = environment["SATCHEL_MASTER_KEY"], !key.isEmpty { return key }
        let file = "\(environment["SATCHEL_DATA"] ?? "./data")/master.key"
        let key = try? String(contentsOfFile: file, encoding: .utf8).trimmingCharacters(in: .whitespacesAndNewlines)
        guard let key, !key.isEmpty else {
            throw SetupError.invalid(
                "No master key: set SATCHEL_MASTER_KEY, or SATCHEL_DATA to the suite's data directory.")
        }
        return key
    }
}

/// The file with the demo shop's content.
struct DataOptions {
    /// Its path, if given.
    let file: String?

    init(_ arguments: Arguments) { file = arguments["data"] }

    func shopData() throws -> ShopData {
        let name = "scripts/lib/demo/shop.json"
        // Relative to the working directory, or to the executable in the checkout's .build/release. (".." does not
        // work, because .build/release is a symbolic link.)
        let executable = URL(fileURLWithPath: CommandLine.arguments.first ?? "")
        let checkout = executable.deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
        let candidates = file.map { [$0] } ?? [name, checkout.appendingPathComponent(name).path]
        let found = candidates.first { FileManager.default.isReadableFile(atPath: $0) }
        guard let found else { throw SetupError.invalid("Cannot read \(candidates[0]).") }
        return try ShopData(file: found)
    }
}
