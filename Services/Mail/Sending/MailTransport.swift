/// A way out for mails.
package protocol MailTransport: Sendable {
    /// Returns when somebody else has taken responsibility for the mail.
    /// - Parameter name: unique per mail; letters, digits, `-` and `_`. Sending the same name again is sending the same
    ///   mail.
    func send(_ message: MailMessage, name: String) async throws(MailProblem)
}

/// The reason for which a mail was not taken.
package struct MailProblem: Error, Sendable, Equatable {
    package enum Kind: Sendable {
        /// It may work later by itself.
        case temporary
        /// It will not work before somebody changes something: our settings, our account, our reputation.
        case configuration
        /// Nobody has this address.
        case recipient
    }

    package let kind: Kind
    /// Whether any other mail would meet it as well.
    package let affectsAll: Bool
    /// For the log: holds neither addresses nor words of the server.
    package let summary: String
    /// The server's own words, for the operator only: they may name the recipient. Empty when there are none.
    package let reply: String
    /// The pause that the server asks for.
    package let pause: Duration?

    package init(
        _ kind: Kind, affectsAll: Bool = false, _ summary: String, reply: String = "", pause: Duration? = nil
    ) {
        self.kind = kind
        self.affectsAll = affectsAll
        self.summary = summary
        self.reply = reply
        self.pause = pause
    }

    /// As the operator reads it in the list of mails.
    package var text: String { reply.isEmpty ? summary : "\(summary): \(reply)" }
}
