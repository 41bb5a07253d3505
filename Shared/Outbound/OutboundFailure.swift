/// The failure of an exchange with a server outside: there is no complete answer.
public struct OutboundFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reasons for which an answer is missing.
    public enum Reason: String, Sendable {
        /// No such host, nobody listens, or the TLS handshake failed.
        case unreachable
        case timedOut
        /// The connection ended, or what came is not the protocol.
        case broken
        case answerTooLarge
        /// The request itself cannot be sent: a bad URL, or too many are waiting.
        case refused
        case cancelled
        /// An SMTP server said no; `replyCode` tells how.
        case mailRefused
    }

    /// The stage that a mail came to. What a refusal means depends on it.
    public enum MailStage: String, Sendable {
        /// Connecting, greeting, encryption.
        case connection
        case login
        /// `MAIL FROM`, which names us.
        case sender
        /// `RCPT TO`, which names the recipient.
        case recipient
        /// From `DATA` to the reply that follows the content.
        case content
    }

    /// The reason, by which callers decide about another attempt.
    public let reason: Reason
    /// True when the request certainly did not reach the peer, so that sending it again cannot do anything twice.
    public let wasNotSent: Bool
    /// The SMTP server's last reply, 200 to 599: 4xx may be tried again, 5xx is final. Nil for HTTP.
    public let replyCode: Int?
    /// libcurl's words, for logs; holds neither headers nor bodies.
    public let detail: String
    /// Nil for HTTP.
    public let stage: MailStage?
    /// The SMTP server's last words, one line with the code; empty when there are none. They may name the recipient:
    /// for operators, not for logs. Nothing of what a server says to a login is kept.
    public let reply: String

    /// A failure; `replyCode`, `stage` and `reply` are for mail alone.
    public init(
        _ reason: Reason, wasNotSent: Bool, replyCode: Int? = nil, detail: String = "", stage: MailStage? = nil,
        reply: String = ""
    ) {
        self.reason = reason
        self.wasNotSent = wasNotSent
        self.replyCode = replyCode
        self.detail = detail
        self.stage = stage
        self.reply = reply
    }

    /// The reason, the reply code and libcurl's words, for logs.
    public var description: String {
        "\(reason.rawValue)\(replyCode.map { " \($0)" } ?? "")\(detail.isEmpty ? "" : ": \(detail)")"
    }
}
