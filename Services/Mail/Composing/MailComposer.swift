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

    /// The names of mails that can be composed: the templates, and `WrittenMail`.
    static let known = Set(MailTemplates.models.keys).union([WrittenMail.template])

    /// The mail as operators see it: a link that opens an account is cut off.
    package func shown(_ mail: QueuedMail) throws(Problem) -> MailMessage {
        try compose(mail.with(model: Self.withoutSecret(mail.model, mail.template)))
    }

    /// The model of a mail that was sent.
    static func withoutSecret(_ model: [UInt8], _ template: String) -> [UInt8] {
        guard let kind = MailTemplates.models[template], let stored = try? JSON(parsing: model) else { return model }
        return kind.withoutSecret(stored).serialized
    }

    package func compose(_ mail: QueuedMail) throws(Problem) -> MailMessage {
        if mail.template == WrittenMail.template { return try written(mail) }
        guard let kind = MailTemplates.models[mail.template] else { throw .unknownTemplate }
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

    private func written(_ mail: QueuedMail) throws(Problem) -> MailMessage {
        guard let to = MailAddress(mail.toAddress, name: Self.harmlessName(mail.toName)) else { throw .address }
        guard let content = (try? JSON(parsing: mail.model)).flatMap(WrittenMail.init) else { throw .model }
        var copy = message(
            mail, to: to, replyTo: content.replyTo,
            MailTemplates.Content(subject: content.subject, text: content.text, html: content.html))
        copy.namedTo = content.to.compactMap(Self.harmless)
        copy.cc = content.cc.compactMap(Self.harmless)
        copy.isBlind = content.isBlind
        copy.attachments = content.attachments
        return copy
    }

    private func message(
        _ mail: QueuedMail, to: MailAddress, replyTo: MailAddress? = nil, _ content: MailTemplates.Content
    ) -> MailMessage {
        var message = MailMessage(
            from: sender, to: to, replyTo: replyTo, subject: content.subject, text: content.text,
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
