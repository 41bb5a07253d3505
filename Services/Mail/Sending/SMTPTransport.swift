import Outbound

/// Hands each mail to an SMTP server, which then is responsible for it.
package struct SMTPTransport: MailTransport {
    package struct Settings: Sendable {
        /// `smtp://host:587` or `smtps://host:465`. A path is the name we greet with.
        package var url: String
        package var login: (user: String, password: String)?
        package var encryption: OutboundMail.Encryption
        package var timeout: Duration

        package init(
            url: String, login: (user: String, password: String)? = nil,
            encryption: OutboundMail.Encryption = .required, timeout: Duration = .seconds(60)
        ) {
            self.url = url
            self.login = login
            self.encryption = encryption
            self.timeout = timeout
        }
    }

    private let settings: Settings
    private let client: OutboundClient

    package init(_ settings: Settings, client: OutboundClient) {
        self.settings = settings
        self.client = client
    }

    package func send(_ message: MailMessage, name: String) async throws(MailProblem) {
        var mail = OutboundMail(
            url: settings.url, sender: message.from.address, recipients: [message.to.address], message: message.bytes)
        mail.login = settings.login
        mail.encryption = settings.encryption
        mail.timeout = settings.timeout
        do throws(OutboundFailure) {
            do throws(OutboundFailure) {
                try await client.send(mail)
            } catch  where error.isOfAnOldConnection {
                try await client.send(mail)
            }
        } catch {
            throw MailProblem(smtp: error)
        }
    }
}

extension OutboundFailure {
    /// The server closed a connection that was kept for the next mail, which we find by using it.
    fileprivate var isOfAnOldConnection: Bool { reason == .broken && wasNotSent && stage == .sender }
}
