import Foundation
import Outbound
import ParseProtocol

/// Sends each mail to Mailgun's HTTP API as a complete MIME message,
/// https://documentation.mailgun.com/docs/mailgun/api-reference/send/mailgun/messages.
package struct MailgunTransport: MailTransport {
    package struct Settings: Sendable {
        /// `https://api.mailgun.net`, or `https://api.eu.mailgun.net` for accounts in Europe.
        package var url: String
        package var domain: String
        package var key: String
        package var timeout: Duration

        package init(url: String, domain: String, key: String, timeout: Duration = .seconds(60)) {
            self.url = url
            self.domain = domain
            self.key = key
            self.timeout = timeout
        }
    }

    private let settings: Settings
    private let client: OutboundClient

    /// Real answers have about a hundred bytes.
    private static let answerBytesMax = 1 << 16

    package init(_ settings: Settings, client: OutboundClient) {
        self.settings = settings
        self.client = client
    }

    package func send(_ message: MailMessage, name: String) async throws(MailProblem) {
        let login = Data("api:\(settings.key)".utf8).base64EncodedString()
        // No line of the MIME message begins like this (`MailMessage.boundary`).
        let boundary = "=_form_\(name)"
        let base = settings.url.hasSuffix("/") ? String(settings.url.dropLast()) : settings.url
        var request = OutboundRequest(
            .post, "\(base)/v3/\(settings.domain)/messages.mime",
            headers: [
                ("Authorization", "Basic \(login)"), ("Content-Type", "multipart/form-data; boundary=\"\(boundary)\""),
            ], body: Self.form(message, boundary: boundary), timeout: settings.timeout)
        request.answerBytesMax = Self.answerBytesMax
        let response: OutboundResponse
        do throws(OutboundFailure) {
            response = try await client.send(request)
        } catch {
            throw MailProblem(mailgun: error)
        }
        if let problem = MailProblem(mailgun: response) { throw problem }
    }

    private static func form(_ message: MailMessage, boundary: String) -> [UInt8] {
        let head = """
            --\(boundary)\r
            Content-Disposition: form-data; name="to"\r
            \r
            \(message.recipient.address)\r
            --\(boundary)\r
            Content-Disposition: form-data; name="message"; filename="message.eml"\r
            Content-Type: application/octet-stream\r
            \r

            """
        return Array(head.utf8) + message.bytes + Array("\r\n--\(boundary)--\r\n".utf8)
    }
}

extension MailProblem {
    /// The problem that Mailgun's answer reports; nil when Mailgun accepted the mail.
    package init?(mailgun response: OutboundResponse) {
        let answer = try? JSON(parsing: response.body)
        let reply = HeaderText.singleLine(String((answer?["message"]?.stringValue ?? "").prefix(400)))
        let summary = "Mailgun answered \(response.status)"
        switch response.status {
        case 200 where answer?["id"]?.stringValue != nil: return nil
        case 200...299: self.init(.temporary, "\(summary) without a message id")
        case 401, 402, 403, 404: self.init(.configuration, affectsAll: true, summary, reply: reply)
        case 429:
            let retryAfter = response.headers["retry-after"].flatMap(Int.init).map {
                Duration.seconds(min(max($0, 1), 3600))
            }
            self.init(.temporary, affectsAll: true, summary, reply: reply, retryAfter: retryAfter)
        case 400...499: self.init(.configuration, summary, reply: reply)
        case 502, 503, 504: self.init(.temporary, affectsAll: true, summary, reply: reply)
        default: self.init(.temporary, summary, reply: reply)
        }
    }

    /// The problem when no complete answer arrived.
    package init(mailgun failure: OutboundFailure) {
        switch failure.reason {
        case .unreachable: self.init(.temporary, affectsAll: true, "Mailgun cannot be reached (\(failure.detail))")
        case .timedOut: self.init(.temporary, "Mailgun did not answer in time")
        default: self.init(.temporary, "Mailgun's answer could not be read (\(failure.reason.rawValue))")
        }
    }
}
