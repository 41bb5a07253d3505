import Configuration
import Foundation
import Outbound

/// Which provider the settings name.
enum PushConfiguration {
    enum Problem: Error, CustomStringConvertible {
        case unknown(String)
        case missing(String)
        case key(String, String)
        case url(String)

        var description: String {
            switch self {
            case .unknown(let name): "SATCHEL_PUSH=\(name) is not available in this version; use spool or apns."
            case .missing(let name): "SATCHEL_PUSH=apns needs \(name)."
            case .key(let path, let problem): "SATCHEL_APNS_KEY_FILE=\(path) is not a key of APNs (.p8): \(problem)"
            case .url(let url): "SATCHEL_APNS_URL=\(url) is not an https address without a path."
            }
        }
    }

    /// - Throws: `Problem`, which ends the service's start.
    static func provider(reader: ConfigReader, dataDirectory: String) throws -> any PushProvider {
        switch reader.string(forKey: "satchel.push", default: "spool") {
        case "spool": return try SpoolProvider(directory: dataDirectory + "/push")
        case "apns": return try apns(reader)
        case let name: throw Problem.unknown(name)
        }
    }

    private static func apns(_ reader: ConfigReader) throws -> APNsProvider {
        func setting(_ key: String) -> String? {
            reader.string(forKey: ConfigKey(key)).flatMap { $0.isEmpty ? nil : $0 }
        }
        func needed(_ key: String) throws -> String {
            guard let value = setting(key) else {
                throw Problem.missing(key.uppercased().replacingOccurrences(of: ".", with: "_"))
            }
            return value
        }
        let path = try needed("satchel.apns.key.file")
        let (keyId, teamId) = (try needed("satchel.apns.key.id"), try needed("satchel.apns.team.id"))
        let token: APNsToken
        do {
            token = try APNsToken(
                pem: String(contentsOfFile: path, encoding: .utf8), keyId: keyId, teamId: teamId)
        } catch {
            throw Problem.key(
                path, (error as? CocoaError) == nil ? "it is not a P-256 key in PEM" : "it cannot be read")
        }
        var url = setting("satchel.apns.url") ?? "https://api.push.apple.com"
        if url.hasSuffix("/") { url.removeLast() }
        guard let parsed = URL(string: url), parsed.scheme == "https", parsed.host?.isEmpty == false,
            parsed.path.isEmpty, parsed.query == nil
        else { throw Problem.url(url) }
        return APNsProvider(
            client: OutboundClient(authorities: setting("satchel.ca.file")), token: token, url: url,
            topic: setting("satchel.apns.topic"))
    }
}
