import Foundation

/// One mail as it is sent: RFC 5322 with a text and an HTML part that say the same, or with one of them.
package struct MailMessage: Sendable {
    package let from: MailAddress
    package let to: MailAddress
    /// Where answers go; nil for the sender.
    package let replyTo: MailAddress?
    package let subject: String
    /// Of `text` and `html` one may be empty: then it is not there.
    package let text: String
    package let html: String
    /// The time at which the mail was asked for.
    package let date: Date
    /// Without angle brackets. Stable, so that a mail that is written twice is the same mail.
    package let messageId: String

    package init(
        from: MailAddress, to: MailAddress, replyTo: MailAddress? = nil, subject: String, text: String, html: String,
        date: Date, messageId: String
    ) {
        self.from = from
        self.to = to
        self.replyTo = replyTo
        self.subject = subject
        self.text = text
        self.html = html
        self.date = date
        self.messageId = messageId
    }

    /// The mail's bytes: lines end with CRLF. The same mail always has the same bytes.
    package var bytes: [UInt8] {
        var lines = ["Date: \(Self.dateText(date))", "From: \(from.header)", "To: \(to.header)"]
        if let replyTo { lines.append("Reply-To: \(replyTo.header)") }
        let subject = HeaderText.unstructured(subject)
        if !subject.isEmpty { lines.append("Subject: \(subject)") }
        lines += [
            "Message-ID: <\(messageId)>",
            "MIME-Version: 1.0",
            "Auto-Submitted: auto-generated",
        ]
        lines += text.isEmpty ? Self.part("html", html) : html.isEmpty ? Self.part("plain", text) : bothParts
        return Array((lines + [""]).joined(separator: "\r\n").utf8)
    }

    private var bothParts: [String] {
        // No line of quoted-printable begins with two dashes and an underscore-equals pair: `=_` cannot be in it.
        let hash = messageId.utf8.reduce(UInt64(14_695_981_039_346_656_037)) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
        let boundary = "=_satchel_\(hash)"
        let parts = [("plain", text), ("html", html)].flatMap { ["--\(boundary)"] + Self.part($0, $1) }
        return ["Content-Type: multipart/alternative;\r\n boundary=\"\(boundary)\"", ""] + parts + ["--\(boundary)--"]
    }

    private static func part(_ type: String, _ content: String) -> [String] {
        [
            "Content-Type: text/\(type); charset=utf-8", "Content-Transfer-Encoding: quoted-printable", "",
            QuotedPrintable.encode(content),
        ]
    }

    /// Made once: a new one costs a hundred times what it is then asked for.
    private static let dateFormatter: DateFormatter = {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(secondsFromGMT: 0)
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss"
        return formatter
    }()

    /// `Mon, 02 Jan 2006 15:04:05 +0000` (RFC 5322 section 3.3).
    static func dateText(_ date: Date) -> String { dateFormatter.string(from: date) + " +0000" }
}
