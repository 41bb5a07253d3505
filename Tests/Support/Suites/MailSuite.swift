import Foundation
import ParseProtocol

/// Suites that send their mails to a test mail server (Tests/Peers/servers/smtp.py).
package enum MailSuite {
    /// The password with which the shop authenticates at the mail server.
    package static let password = "hunter2-\(Names.random(8))"

    /// A suite that sends by SMTP, with authentication and encryption as in production.
    package static func with(
        pause: String = "0", scale: String? = nil, _ settings: [String: String] = [:],
        _ body: (Suite, Peer) async throws -> Void
    ) async throws {
        let authority = FileManager.default.temporaryDirectory.path + "/authority-\(Names.random(10)).pem"
        defer { try? FileManager.default.removeItem(atPath: authority) }
        let arguments = ["--ca", authority, "--login", "shop:\(password)", "--pause", pause]
        try await Peer.with("smtp.py", arguments) { peer in
            let smtp = [
                "SATCHEL_MAIL": "smtp", "SATCHEL_SMTP_URL": "smtp://localhost:\(peer.port)",
                "SATCHEL_SMTP_USER": "shop",
                "SATCHEL_SMTP_PASSWORD": password, "SATCHEL_CA_FILE": authority,
                "SATCHEL_MAIL_FROM": "shop@shop.example",
                "SATCHEL_SHOP_NAME": "Beauty & Me", "SATCHEL_MAIL_RETRY_SECONDS": "1",
                "SATCHEL_MAIL_TIMEOUT_SECONDS": "15", "SATCHEL_MAILS_PER_RECIPIENT": "0",
                "SATCHEL_MAILS_PER_USER": "0", "SATCHEL_VERIFY_EMAIL": "false",
            ]
            try await Suite.with(scale: scale, settings: smtp.merging(settings) { $1 }) { try await body($0, peer) }
        }
    }
}
