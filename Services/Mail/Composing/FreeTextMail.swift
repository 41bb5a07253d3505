import ParseProtocol

/// A mail without a template: cloud code (`sendShopMail`) or an operator (`mailCustomer`) wrote its text.
package struct FreeTextMail: Sendable, Equatable {
    /// The queue stores this instead of a template's name.
    package static let template = "message"

    /// One or more lines, which the header joins into one. May be empty.
    package let subject: String
    /// Sent unchanged. Either `text` or `html` may be empty.
    package let text: String
    package let html: String
    /// Nil: replies go to the shop.
    package let replyTo: MailAddress?
    /// `toHeader` and `ccHeader` as in `MailMessage`.
    package var toHeader: [MailAddress] = []
    package var ccHeader: [MailAddress] = []
    /// Whether this copy's recipient is hidden from the others (`Bcc`).
    package var isBlind = false
    package var attachments: [MailAttachment] = []

    package init(subject: String, text: String, html: String, replyTo: MailAddress? = nil) {
        self.subject = subject
        self.text = text
        self.html = html
        self.replyTo = replyTo
    }

    /// The mail of `model`; nil for anything else.
    init?(_ model: JSON) {
        guard let subject = model["subject"]?.stringValue, let text = model["text"]?.stringValue,
            let html = model["html"]?.stringValue, !(text.isEmpty && html.isEmpty)
        else { return nil }
        self.init(
            subject: subject, text: text, html: html,
            replyTo: model["replyTo"]?.stringValue.flatMap {
                MailAddress($0, name: model["replyToName"]?.stringValue ?? "")
            })
        toHeader = Self.addresses(model["to"])
        ccHeader = Self.addresses(model["cc"])
        isBlind = model["isBlind"] == true
        attachments = (model["attachments"]?.arrayValue ?? []).compactMap(MailAttachment.init(stored:))
    }

    private static func addresses(_ list: JSON?) -> [MailAddress] {
        (list?.arrayValue ?? []).compactMap { entry in
            entry["address"]?.stringValue.flatMap { MailAddress($0, name: entry["name"]?.stringValue ?? "") }
        }
    }

    private static func stored(_ addresses: [MailAddress]) -> JSON {
        .array(addresses.map { ["address": .string($0.address), "name": .string($0.name)] })
    }

    /// The form stored in the queue until the mail is sent.
    package var model: JSON {
        var model: JSON = ["subject": .string(subject), "text": .string(text), "html": .string(html)]
        if let replyTo {
            model["replyTo"] = .string(replyTo.address)
            model["replyToName"] = .string(replyTo.name)
        }
        if !toHeader.isEmpty { model["to"] = Self.stored(toHeader) }
        if !ccHeader.isEmpty { model["cc"] = Self.stored(ccHeader) }
        if isBlind { model["isBlind"] = true }
        if !attachments.isEmpty { model["attachments"] = .array(attachments.map(\.stored)) }
        return model
    }
}
