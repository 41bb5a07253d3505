import ParseProtocol

/// A mail that whoever asked for it wrote himself, as cloud code does: no template has a part in it.
package struct WrittenMail: Sendable, Equatable {
    /// What the queue has in the place of a template's name.
    package static let template = "message"

    /// One line or more; the header makes one of them. May be empty.
    package let subject: String
    /// As it is sent. Of `text` and `html` one may be empty.
    package let text: String
    package let html: String
    /// Nil where answers go to the shop.
    package let replyTo: MailAddress?

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
    }

    /// What the queue keeps until the mail is sent.
    package var model: JSON {
        var model: JSON = ["subject": .string(subject), "text": .string(text), "html": .string(html)]
        if let replyTo {
            model["replyTo"] = .string(replyTo.address)
            model["replyToName"] = .string(replyTo.name)
        }
        return model
    }
}
