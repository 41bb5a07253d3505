/// The failure of an exchange with an external server: there is no complete response.
public struct OutboundFailure: Error, Sendable, Hashable, CustomStringConvertible {
    /// The reasons why there is no response.
    public enum Reason: String, Sendable {
        /// Unknown host, no listener, or a failed TLS handshake.
        case unreachable
        case timedOut
        /// The connection ended, or the response violated the protocol.
        case broken
        case answerTooLarge
        /// The request cannot be sent: an invalid URL, too many requests are waiting, or libcurl cannot be loaded.
        case refused
        case cancelled
        /// An SMTP server refused; `replyCode` says whether a retry makes sense.
        case mailRefused
    }

    /// The stage of the mail dialogue, which determines the meaning of a refusal.
    public enum MailStage: String, Sendable {
        /// Connecting, greeting, encryption.
        case connection
        case login
        /// `MAIL FROM`, with the sender's address.
        case sender
        /// `RCPT TO`, with the recipient's address.
        case recipient
        /// From `DATA` to the reply after the content.
        case content
    }

    /// The reason; callers use it to decide about a retry.
    public let reason: Reason
    /// True when the request certainly did not reach the peer, so that a retry cannot execute it twice.
    public let wasNotSent: Bool
    /// The SMTP server's last reply, 200 to 599: 4xx may be retried, 5xx is final. Nil for HTTP.
    public let replyCode: Int?
    /// libcurl's error text, for logs; contains neither headers nor bodies.
    public let detail: String
    /// Nil for HTTP.
    public let stage: MailStage?
    /// The SMTP server's last reply, in one line with the code; empty when there is none. It may name the recipient, so
    /// it is for operators, not for logs. Replies to a login are not stored.
    public let reply: String

    /// A failure; `replyCode`, `stage` and `reply` apply to mail only.
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

    /// The reason, the reply code and libcurl's text, for logs.
    public var description: String {
        "\(reason.rawValue)\(replyCode.map { " \($0)" } ?? "")\(detail.isEmpty ? "" : ": \(detail)")"
    }
}
