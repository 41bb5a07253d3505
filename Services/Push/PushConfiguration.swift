import Foundation
import Outbound
import ProcessKit

/// The provider selected in the settings.
enum PushConfiguration {
    /// - Throws: `StartupProblem`.
    static func provider(_ settings: Settings, dataDirectory: String) throws -> any PushProvider {
        switch settings.text("satchel.push", default: "spool") {
        case "spool": return try SpoolProvider(directory: dataDirectory + "/push")
        case "apns": return try apns(settings)
        default: throw settings.wrong("satchel.push", "is not available in this version; use spool or apns.")
        }
    }

    private static func apns(_ settings: Settings) throws -> APNsProvider {
        func needed(_ key: String) throws -> String {
            guard let value = settings[key] else {
                throw StartupProblem("SATCHEL_PUSH=apns needs \(Settings.variable(key)).")
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
            let why = (error as? CocoaError) == nil ? "it is not a P-256 key in PEM" : "it cannot be read"
            throw settings.wrong("satchel.apns.key.file", "is not a key of APNs (.p8): \(why)")
        }
        var url = settings["satchel.apns.url"] ?? "https://api.push.apple.com"
        if url.hasSuffix("/") { url.removeLast() }
        guard let parsed = URL(string: url), parsed.scheme == "https", parsed.host?.isEmpty == false,
            parsed.path.isEmpty, parsed.query == nil
        else { throw settings.wrong("satchel.apns.url", "is not an https address without a path.") }
        return APNsProvider(
            client: try .loaded(authorities: settings["satchel.ca.file"]), token: token, url: url,
            topic: settings["satchel.apns.topic"])
    }
}
