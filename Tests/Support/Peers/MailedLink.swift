import Foundation
import ParseProtocol

/// A link from a mail, and the pages behind it, as a browser without scripts uses them.
package struct MailedLink: Sendable {
    /// Relative to the mount.
    package let path: String
    private let client: ParseClient

    /// The newest link of a kind (`verify_email`, `request_password_reset`) mailed to an address.
    package static func newest(_ kind: String, to address: String, in suite: Suite) async throws -> MailedLink {
        try await all(kind, to: address, in: suite, atLeast: 1)[0]
    }

    /// Every link of a kind mailed to an address. Waits until there are `count`.
    package static func all(
        _ kind: String, to address: String, in suite: Suite, atLeast count: Int
    ) async throws -> [MailedLink] {
        var links: [String] = []
        try await eventually("\(count) mails with a \(kind) link to \(address)") {
            links = present(kind, to: address, in: suite)
            return links.count >= count
        }
        return links.map { MailedLink(path: $0, client: ParseClient(suite)) }
    }

    /// The paths that are in the spool now.
    package static func present(_ kind: String, to address: String, in suite: Suite) -> [String] {
        suite.mails().filter { ($0.header("To") ?? "").contains(address) }.compactMap { mail in
            let start = "\(suite.url)/apps/satchel/\(kind)?token="
            guard let range = mail.text.range(of: start) else { return nil }
            let token = mail.text[range.upperBound...].prefix { $0.isHexDigit }
            return "/apps/satchel/\(kind)?token=\(token)"
        }
    }

    package var token: String { path.components(separatedBy: "token=").last ?? "" }

    package func open() async throws -> ParseClient.Answer { try await client.send(.GET, path) }

    /// Fills in and submits the form for a new password.
    package func choose(_ password: String, again: String? = nil) async throws -> ParseClient.Answer {
        try await client.post(
            form: ["token": token, "new_password": password, "repeated_password": again ?? password],
            to: "/apps/choose_password")
    }
}

extension ParseClient {
    /// Submits a form as browsers do, without credentials.
    package func post(form: [String: String], to path: String) async throws -> Answer {
        let text = ParseClient.queryText(form.mapValues(JSON.string))
        return try await send(
            .POST, path, headers: [("Content-Type", "application/x-www-form-urlencoded")], body: Array(text.utf8))
    }
}
