import Foundation
import Outbound
import ParseProtocol
import ProcessKit

/// The settings of the mail service.
package struct MailConfiguration: Sendable {
    package enum Provider: Sendable {
        case spool
        case smtp(SMTPTransport.Settings)
        case mailgun(MailgunTransport.Settings)
    }

    /// `SATCHEL_MAIL` and the settings of each provider.
    package let provider: Provider
    /// `SATCHEL_MAIL_FROM`: the sender address of all mails.
    package let sender: MailAddress
    /// `SATCHEL_MAIL_STAFF` and the sender: mailboxes of the shop's own staff.
    package let staff: Set<Mailbox>
    /// `SATCHEL_SHOP_NAME`: the shop's name in mails.
    package let shopName: String
    /// `SATCHEL_TIME_ZONE`: the zone of dates in mails.
    package let zone: ShopZone
    /// `SATCHEL_LANGUAGE`: the language of the installed templates.
    package let language: ShopLanguage
    /// `SATCHEL_MAIL_TEMPLATES`: a folder with replacements of the installed templates.
    package let templatesFolder: String?
    /// `SATCHEL_MAIL_RETRY_SECONDS`, `SATCHEL_MAIL_GIVE_UP_HOURS` and `SATCHEL_MAIL_CONNECTIONS`. The spool ignores
    /// `SATCHEL_MAIL_CONNECTIONS`.
    package let sending: MailSender.Settings
    /// Lease time of a claimed mail: the timeout of an attempt (`SATCHEL_MAIL_TIMEOUT_SECONDS`) plus time to store the
    /// result.
    package let claimDuration: Duration
    /// `SATCHEL_MAILS_PER_RECIPIENT`, `SATCHEL_MAILS_PER_USER` and `SATCHEL_MAILS_PER_NETWORK`.
    package let quotas: MailQuotas.Limits
    /// `SATCHEL_CA_FILE`: certificate authorities instead of the system's.
    package let authorities: String?

    /// - Throws: `StartupProblem`.
    package init(_ settings: Settings) throws(StartupProblem) {
        shopName = settings["satchel.shop.name"] ?? "Satchel"
        zone = try ShopZone.ofShop(settings)
        language = try ShopLanguage(settings)
        templatesFolder = settings["satchel.mail.templates"]
        let address = settings["satchel.mail.from"] ?? "shop@satchel.example"
        guard let sender = MailAddress(address, name: shopName) else {
            throw StartupProblem("SATCHEL_MAIL_FROM=\(address) is not a mail address.")
        }
        self.sender = sender
        let others = settings.list("satchel.mail.staff")
        if let wrong = others.first(where: { MailAddress($0, name: "") == nil }) {
            throw StartupProblem("SATCHEL_MAIL_STAFF has \(wrong), which is not a mail address.")
        }
        staff = Set(([address] + others).map(Mailbox.init))
        let retry = Duration.seconds(try settings.number("satchel.mail.retry.seconds", 1...3600, default: 60))
        let hours = Duration.seconds(3600 * (try settings.number("satchel.mail.give.up.hours", 1...720, default: 72)))
        let connections = try settings.number("satchel.mail.connections", 1...16, default: 4)
        var quotas = MailQuotas.Limits()
        let perDay = 0...10_000_000
        quotas.perRecipient = try settings.number(
            "satchel.mails.per.recipient", perDay, default: quotas.perRecipient)
        quotas.perUser = try settings.number("satchel.mails.per.user", perDay, default: quotas.perUser)
        quotas.perNetwork = try settings.number("satchel.mails.per.network", perDay, default: quotas.perNetwork)
        self.quotas = quotas
        let timeout = Duration.seconds(try settings.number("satchel.mail.timeout.seconds", 1...600, default: 60))
        authorities = settings["satchel.ca.file"]
        if let authorities, !FileManager.default.isReadableFile(atPath: authorities) {
            throw StartupProblem("SATCHEL_CA_FILE=\(authorities) cannot be read.")
        }
        provider =
            switch settings["satchel.mail"] ?? "spool" {
            case "spool": .spool
            case "smtp": .smtp(try Self.smtp(settings, timeout))
            case "mailgun": .mailgun(try Self.mailgun(settings, timeout))
            case let name: throw StartupProblem("SATCHEL_MAIL is `\(name)`; it must be `spool`, `smtp` or `mailgun`.")
            }
        let isSpool = if case .spool = provider { true } else { false }
        let isSMTP = if case .smtp = provider { true } else { false }
        claimDuration = .seconds(10) + (isSpool ? .zero : timeout)
        var sending = MailSender.Settings(
            schedule: RetrySchedule(first: retry, giveUpAfter: hours),
            connections: isSpool ? SpoolTransport.mailsMax : connections,
            // Only with SMTP can a slow server of a recipient delay the sender. With the other transports one domain
            // may have all connections.
            perDomain: isSMTP ? nil : isSpool ? SpoolTransport.mailsMax : connections)
        if isSpool { sending.roomMin = SpoolTransport.mailsMax / 2 }
        self.sending = sending
    }

    private static func smtp(_ settings: Settings, _ timeout: Duration) throws(StartupProblem) -> SMTPTransport.Settings
    {
        let url = try settings.mailURL(
            "satchel.smtp.url", schemes: ["smtp", "smtps"], example: "smtp://host:587 or smtps://host:465")
        let (user, password) = (settings["satchel.smtp.user"], settings["satchel.smtp.password"])
        guard (user == nil) == (password == nil) else {
            throw StartupProblem("SATCHEL_SMTP_USER and SATCHEL_SMTP_PASSWORD belong together; only one is set.")
        }
        let encryption: OutboundMail.Encryption =
            switch settings["satchel.smtp.tls"] ?? "required" {
            case "required": .required
            case "opportunistic": .opportunistic
            case "none": .none
            case let other:
                throw StartupProblem(
                    "SATCHEL_SMTP_TLS is `\(other)`; it must be `required`, `opportunistic` or `none`.")
            }
        var login: (user: String, password: String)?
        if let user, let password { login = (user, password) }
        return SMTPTransport.Settings(url: url, login: login, encryption: encryption, timeout: timeout)
    }

    private static func mailgun(
        _ settings: Settings, _ timeout: Duration
    ) throws(StartupProblem) -> MailgunTransport.Settings {
        guard let domain = settings["satchel.mailgun.domain"], let key = settings["satchel.mailgun.key"] else {
            throw StartupProblem("SATCHEL_MAIL=mailgun needs SATCHEL_MAILGUN_DOMAIN and SATCHEL_MAILGUN_KEY.")
        }
        // The domain becomes part of a URL path.
        guard MailAddress("postmaster@\(domain)", name: "") != nil, !domain.contains(where: { "/?#%".contains($0) })
        else {
            throw StartupProblem("SATCHEL_MAILGUN_DOMAIN=\(domain) is not a domain.")
        }
        let url = try settings.mailURL(
            "satchel.mailgun.url", schemes: ["http", "https"], default: "https://api.mailgun.net",
            example: "https://api.eu.mailgun.net")
        return MailgunTransport.Settings(url: url, domain: domain, key: key, timeout: timeout)
    }
}
