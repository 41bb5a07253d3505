import Outbound

extension MailProblem {
    /// Classifies an SMTP server's refusal. The stage names the refused part of the session. The first digit of the
    /// code says whether the refusal is permanent. The enhanced code (RFC 3463), if present, gives the reason.
    package init(smtp failure: OutboundFailure) {
        let stage = failure.stage ?? .connection
        let isBeforeTheMail = stage == .connection || stage == .login || stage == .sender
        let summary = Self.summary(failure, stage)
        guard failure.reason == .mailRefused else {
            // The server answered but no session began, for example because it offers no STARTTLS or its certificate is
            // not trusted. So the settings are wrong.
            let isConfigurationError = failure.reason == .unreachable && stage == .connection && !failure.reply.isEmpty
            self.init(
                isConfigurationError ? .configuration : .temporary, affectsAll: isBeforeTheMail, summary,
                reply: failure.reply)
            return
        }
        // libcurl may report a denied login without its code, which is 535.
        let code = failure.replyCode ?? 535
        let kind: Kind =
            switch (code, stage) {
            case (..<500, _): .temporary
            case (_, .connection), (_, .login), (_, .sender): .configuration
            case (_, .recipient): Self.ofRecipient(code, EnhancedCode(failure.reply))
            case (_, .content): Self.ofContent(EnhancedCode(failure.reply))
            }
        // 421: the server closes the connection, regardless of the recipient (RFC 5321 section 3.8), so every mail
        // would fail.
        self.init(kind, affectsAll: isBeforeTheMail || code == 421, summary, reply: failure.reply)
    }

    private static func summary(_ failure: OutboundFailure, _ stage: OutboundFailure.MailStage) -> String {
        let step =
            switch stage {
            case .connection: "connect"
            case .login: "log in"
            case .sender: "accept the sender"
            case .recipient: "accept the recipient"
            case .content: "accept the content"
            }
        switch failure.reason {
        case .mailRefused:
            return "The mail server refused to \(step) (\(failure.replyCode.map(String.init) ?? "no code"))"
        case .unreachable: return "The mail server cannot be reached (\(failure.detail))"
        case .timedOut: return "The mail server did not answer in time (stage: \(step))"
        case .broken: return "The connection to the mail server broke (stage: \(step))"
        case .refused, .cancelled, .answerTooLarge: return "The mail could not be sent (\(failure))"
        }
    }

    /// A full mailbox may have room later. A refusal by policy (`X.7.X`: relaying denied, our host is on a block list)
    /// or of the command itself does not say whether the address exists, so it suppresses no address.
    private static func ofRecipient(_ code: Int, _ enhanced: EnhancedCode?) -> Kind {
        if code == 552 || enhanced?.isFullMailbox == true { return .temporary }
        let isOfCommand = (500...504).contains(code) || [530, 534, 535, 538].contains(code)
        return isOfCommand || enhanced?.subject == 7 ? .configuration : .recipient
    }

    /// Some servers check the recipient only at this stage (5.1.x). Any other permanent refusal is about the content,
    /// which only the operator can change, for example with a template or at the provider.
    private static func ofContent(_ enhanced: EnhancedCode?) -> Kind {
        if enhanced?.isFullMailbox == true { return .temporary }
        return enhanced?.subject == 1 ? .recipient : .configuration
    }
}

/// The `5.1.1` of `550 5.1.1 No such user` (RFC 3463): class, subject, detail.
private struct EnhancedCode {
    let subject: Int
    let detail: Int

    init?(_ reply: String) {
        guard let word = reply.dropFirst(3).drop(while: { $0 == " " || $0 == "-" }).split(separator: " ").first
        else { return nil }
        let parts = word.split(separator: ".").map { Int($0) }
        guard parts.count == 3, let first = parts[0], first == 4 || first == 5, let subject = parts[1],
            let detail = parts[2]
        else { return nil }
        self.subject = subject
        self.detail = detail
    }

    var isFullMailbox: Bool { subject == 2 && detail == 2 }
}
