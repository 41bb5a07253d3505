import Foundation

/// A complete mail in RFC 5322 form, with a text and an HTML part of the same content, or with one of them.
package struct MailMessage: Sendable {
    package let from: MailAddress
    /// The recipient of this copy, to whom the transport sends it.
    package let recipient: MailAddress
    /// The address for replies; nil for the sender.
    package let replyTo: MailAddress?
    package let subject: String
    /// Either `text` or `html` may be empty; that part is then omitted.
    package let text: String
    package let html: String
    /// The time at which the mail was requested.
    package let date: Date
    /// Without angle brackets. The same for every attempt, so that mail programs recognise a mail that was sent twice.
    package let messageId: String
    /// The addresses in the `To` header of a copy for a `Cc` or `Bcc` recipient. Empty in a copy for a `to` recipient,
    /// whose header names only that recipient.
    package var toHeader: [MailAddress] = []
    /// The addresses in the `Cc` header.
    package var ccHeader: [MailAddress] = []
    /// Whether this copy names `recipient` in a `Bcc` header.
    package var isBlind = false
    package var attachments: [MailAttachment] = []
    /// The header `traceparent`; nil for none.
    package var traceParent: String?

    package init(
        from: MailAddress, recipient: MailAddress, replyTo: MailAddress? = nil, subject: String, text: String,
        html: String,
        date: Date, messageId: String
    ) {
        self.from = from
        self.recipient = recipient
        self.replyTo = replyTo
        self.subject = subject
        self.text = text
        self.html = html
        self.date = date
        self.messageId = messageId
    }

    /// The mail's bytes, with CRLF line ends. The same mail always has the same bytes.
    package var bytes: [UInt8] { bytes(eightBit: false) }

    /// - Parameter eightBit: keeps letters beyond ASCII, so that people can read a file of the spool. An old mail
    ///   server would change them.
    package func bytes(eightBit: Bool) -> [UInt8] {
        var lines = ["Date: \(Self.dateText(date))", "From: \(from.header)"]
        lines += Self.addressLines("To", toHeader.isEmpty ? [recipient] : toHeader)
        lines += Self.addressLines("Cc", ccHeader)
        if isBlind { lines += Self.addressLines("Bcc", [recipient]) }
        if let replyTo { lines.append("Reply-To: \(replyTo.header)") }
        let subject = HeaderText.unstructured(subject)
        if !subject.isEmpty { lines.append("Subject: \(subject)") }
        lines += [
            "Message-ID: <\(messageId)>",
            "MIME-Version: 1.0",
            "Auto-Submitted: auto-generated",
        ]
        if let traceParent { lines.append("traceparent: \(traceParent)") }
        let content = content(eightBit)
        lines += attachments.isEmpty ? content : withAttachments(content)
        return Array((lines + [""]).joined(separator: "\r\n").utf8)
    }

    /// A header with one address per line, because a line is limited to 998 bytes (RFC 5322 section 2.1.1).
    private static func addressLines(_ name: String, _ addresses: [MailAddress]) -> [String] {
        addresses.isEmpty ? [] : ["\(name): " + addresses.map(\.header).joined(separator: ",\r\n ")]
    }

    private func content(_ eightBit: Bool) -> [String] {
        let parts = [("plain", text), ("html", html)].filter { !$0.1.isEmpty }.map { Self.part($0, $1, eightBit) }
        return parts.count == 1 ? parts[0] : alternatives(parts)
    }

    private func withAttachments(_ content: [String]) -> [String] {
        let boundary = boundary("mixed")
        let parts = ([content] + attachments.map(\.part)).flatMap { ["--\(boundary)"] + $0 }
        return ["Content-Type: multipart/mixed;\r\n boundary=\"\(boundary)\"", ""] + parts + ["--\(boundary)--"]
    }

    /// No body contains `=_`: quoted-printable writes `=` as `=3D`, base64 has no `_`, and `PlainBody` refuses texts
    /// with it.
    private func boundary(_ name: String) -> String {
        let hash = messageId.utf8.reduce(UInt64(14_695_981_039_346_656_037)) { ($0 ^ UInt64($1)) &* 1_099_511_628_211 }
        return "=_\(name)_\(hash)"
    }

    private func alternatives(_ parts: [[String]]) -> [String] {
        let boundary = boundary("satchel")
        let parts = parts.flatMap { ["--\(boundary)"] + $0 }
        return ["Content-Type: multipart/alternative;\r\n boundary=\"\(boundary)\"", ""] + parts + ["--\(boundary)--"]
    }

    private static func part(_ type: String, _ content: String, _ eightBit: Bool) -> [String] {
        let plain = PlainBody.of(content, eightBit: eightBit)
        let encoding = plain.map { $0.utf8.allSatisfy { $0 < 0x80 } ? "7bit" : "8bit" } ?? "quoted-printable"
        return [
            "Content-Type: text/\(type); charset=utf-8", "Content-Transfer-Encoding: \(encoding)", "",
            plain ?? QuotedPrintable.encode(content),
        ]
    }

    /// Created once: creating a formatter costs a hundred times more than using it.
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
