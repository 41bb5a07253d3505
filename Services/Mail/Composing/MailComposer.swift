import Foundation
import ParseProtocol

/// Composes a mail from a request.
package struct MailComposer: Sendable {
    private let sender: MailAddress
    private let shopName: String
    private let templates: MailTemplates
    private let zone: ShopZone

    /// Why a mail can never be sent. The mail stays in the queue's table for the operator.
    package enum Problem: Error, Equatable, CustomStringConvertible {
        case unknownTemplate
        case address
        case model

        package var description: String {
            switch self {
            case .unknownTemplate: "There is no such template."
            case .address: "The address is not valid."
            case .model: "The template's values are not valid."
            }
        }
    }

    /// - Parameter zone: the shop's, for dates.
    package init(sender: MailAddress, shopName: String, templates: MailTemplates, zone: ShopZone = .utc) {
        self.sender = sender
        self.shopName = shopName
        self.templates = templates
        self.zone = zone
    }

    /// The names of templates in the queue that can be composed, with the one of `FreeTextMail`.
    static let known = Set(MailTemplates.kinds.keys).union([FreeTextMail.template])

    /// The mail as operators see it, without a link that opens an account.
    package func shown(_ mail: QueuedMail) throws(Problem) -> MailMessage {
        try compose(mail.with(model: Self.withoutSecret(mail.model, mail.template)))
    }

    /// Removes the account link from the model of a mail of `template`; used after sending and for operators.
    static func withoutSecret(_ model: [UInt8], _ template: String) -> [UInt8] {
        guard let kind = MailTemplates.kinds[template], let stored = try? JSON(parsing: model) else { return model }
        return kind.withoutSecret(stored).serialized
    }

    package func compose(_ mail: QueuedMail) throws(Problem) -> MailMessage {
        if mail.template == FreeTextMail.template { return try composeFreeText(mail) }
        guard let kind = MailTemplates.kinds[mail.template] else { throw .unknownTemplate }
        guard MailAddress(mail.toAddress, name: "") != nil else { throw .address }
        guard let model = try? JSON(parsing: mail.model), var values = kind.values(model, templates.language, in: zone)
        else { throw .model }
        let name = Self.harmlessName(mail.toName.isEmpty ? values["name"] as? String ?? "" : mail.toName)
        guard let to = MailAddress(mail.toAddress, name: name) else { throw .address }
        values["shopName"] = shopName
        values["name"] = to.name.isEmpty ? nil : to.name
        let content = templates.render(mail.template, values)
        return message(mail, to: to, content)
    }

    private func composeFreeText(_ mail: QueuedMail) throws(Problem) -> MailMessage {
        guard let to = MailAddress(mail.toAddress, name: Self.harmlessName(mail.toName)) else { throw .address }
        guard let content = (try? JSON(parsing: mail.model)).flatMap(FreeTextMail.init) else { throw .model }
        var copy = message(
            mail, to: to, replyTo: content.replyTo,
            MailTemplates.Content(subject: content.subject, text: content.text, html: content.html))
        copy.toHeader = content.toHeader.compactMap(Self.harmless)
        copy.ccHeader = content.ccHeader.compactMap(Self.harmless)
        copy.isBlind = content.isBlind
        copy.attachments = content.attachments
        return copy
    }

    private func message(
        _ mail: QueuedMail, to recipient: MailAddress, replyTo: MailAddress? = nil, _ content: MailTemplates.Content
    ) -> MailMessage {
        var message = MailMessage(
            from: sender, recipient: recipient, replyTo: replyTo, subject: content.subject, text: content.text,
            html: content.html, date: Date(timeIntervalSince1970: Double(mail.queuedAt.milliseconds) / 1000),
            messageId: "\(mail.messageId)@\(sender.domain)")
        message.traceParent = mail.trace?.text
        return message
    }

    private static func harmless(_ address: MailAddress) -> MailAddress? {
        MailAddress(address.address, name: harmlessName(address.name))
    }

    /// A client that signs up with another person's address also chooses a name, and could make the shop mail an
    /// advertisement to that address. A name that looks like a link is therefore left out.
    private static func harmlessName(_ name: String) -> String {
        let name = HeaderText.singleLine(name)
        let looksLikeLink = name.contains("/") || name.contains("@") || name.lowercased().contains("www.")
        return looksLikeLink ? "" : CustomerText.line(name)
    }
}
