/// A transport for outgoing mails.
package protocol MailTransport: Sendable {
    /// Returns when the server, or the disk, has accepted the mail.
    /// - Parameter name: unique per mail; letters, digits, `-` and `_`. The same name identifies the same mail.
    func send(_ message: MailMessage, name: String) async throws(MailProblem)
}

/// Why a mail was not accepted.
package struct MailProblem: Error, Sendable, Equatable {
    package enum Kind: Sendable {
        /// A retry may succeed.
        case temporary
        /// Fails until the operator changes something: the settings, the account at the provider, or the shop's
        /// reputation. Retried like a temporary problem, so that the mail leaves after the change.
        case configuration
        /// The address does not exist.
        case recipient
    }

    package let kind: Kind
    /// Whether every other mail would fail as well.
    package let affectsAll: Bool
    /// For the log: contains neither addresses nor the server's text.
    package let summary: String
    /// The server's own text, for the operator only: it may name the recipient. Empty when there is none.
    package let reply: String
    /// The delay that the server asks for.
    package let retryAfter: Duration?

    package init(
        _ kind: Kind, affectsAll: Bool = false, _ summary: String, reply: String = "", retryAfter: Duration? = nil
    ) {
        self.kind = kind
        self.affectsAll = affectsAll
        self.summary = summary
        self.reply = reply
        self.retryAfter = retryAfter
    }

    /// The text for the operator in the list of mails.
    package var text: String { reply.isEmpty ? summary : "\(summary): \(reply)" }
}
