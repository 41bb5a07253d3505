import Foundation
import ProcessKit

/// Settings of the shadow mode: a sample of the reads goes to the server that the shop moved from, too.
package struct ShadowSettings: Sendable {
    /// The credentials of a client that the old server gets. It never gets the master key.
    package enum Sends: String, CaseIterable, Sendable {
        /// The application id alone. Reads with a session are not sampled.
        case nothing
        /// The client's keys, too.
        case keys
        /// The client's keys and its session token.
        case sessions
    }

    /// The old server's address with its mount, without a slash at the end.
    package let url: String
    /// The share of the reads that are sampled, 0 to 1.
    package let share: Double
    package let applicationId: String
    package let sends: Sends

    /// Nil without an old server.
    /// - Parameter applicationId: the shop's.
    /// - Throws: `StartupProblem`.
    package init?(_ settings: Settings, applicationId: String) throws(StartupProblem) {
        guard let share = Double(settings.text("satchel.shadow.share", default: "0.01")), (0...1).contains(share) else {
            throw settings.wrong("satchel.shadow.share", "must be a number from 0 to 1.")
        }
        self.share = share
        self.applicationId = settings.text("satchel.shadow.application.id", default: applicationId)
        sends = try settings.choice("satchel.shadow.sends", default: Sends.nothing)
        guard let address = settings["satchel.shadow.url"] else { return nil }
        guard let url = URLComponents(string: address), url.scheme == "http" || url.scheme == "https",
            url.host?.isEmpty == false, url.user == nil, url.query == nil, url.fragment == nil
        else {
            // Without the value: it may hold a password.
            throw StartupProblem("SATCHEL_SHADOW_URL is not an http address such as https://old.example/parse.")
        }
        let isHere = ["127.0.0.1", "::1", "[::1]", "localhost"].contains(url.host ?? "")
        guard sends != .sessions || url.scheme == "https" || isHere else {
            throw StartupProblem("SATCHEL_SHADOW_SENDS=sessions needs an https address in SATCHEL_SHADOW_URL.")
        }
        self.url = address.hasSuffix("/") ? String(address.dropLast()) : address
    }
}
