/// Why there is no complete answer.
public struct OutboundFailure: Error, Sendable, Hashable, CustomStringConvertible {
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

    public let reason: Reason
    /// True when the request certainly did not reach the peer, so that sending it again cannot do anything twice.
    public let wasNotSent: Bool
    /// The SMTP server's last reply, 200 to 599: 4xx may be tried again, 5xx is final. Nil for HTTP.
    public let replyCode: Int?
    /// libcurl's words, for logs; holds neither headers nor bodies.
    public let detail: String

    public init(_ reason: Reason, wasNotSent: Bool, replyCode: Int? = nil, detail: String = "") {
        self.reason = reason
        self.wasNotSent = wasNotSent
        self.replyCode = replyCode
        self.detail = detail
    }

    public var description: String {
        "\(reason.rawValue)\(replyCode.map { " \($0)" } ?? "")\(detail.isEmpty ? "" : ": \(detail)")"
    }
}
