import Outbound

/// Sends each mail to an SMTP server, which delivers it.
package struct SMTPTransport: MailTransport {
    package struct Settings: Sendable {
        /// `smtp://host:587` or `smtps://host:465`. An optional path sets the host name that the client sends in EHLO.
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
            url: settings.url, sender: message.from.address, recipients: [message.recipient.address],
            message: message.bytes)
        mail.login = settings.login
        mail.encryption = settings.encryption
        mail.timeout = settings.timeout
        do throws(OutboundFailure) {
            do throws(OutboundFailure) {
                try await client.send(mail)
            } catch  where error.isStaleConnection {
                // The server closed the kept connection before it got the mail. One retry is therefore safe.
                try await client.send(mail)
            }
        } catch {
            throw MailProblem(smtp: error)
        }
    }
}

extension OutboundFailure {
    /// The server closed a kept-alive connection, which the transport notices only when it uses it.
    fileprivate var isStaleConnection: Bool { reason == .broken && wasNotSent && stage == .sender }
}
