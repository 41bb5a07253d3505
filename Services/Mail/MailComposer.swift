import Foundation
import Mustache
import ParseProtocol

/// Makes a mail of what was asked for.
package struct MailComposer: Sendable {
    private let sender: MailAddress
    private let shopName: String
    private let templates: MailTemplates

    /// Why a mail can never be sent. It stays in the queue's table for the operator.
    package enum Problem: Error, Equatable, CustomStringConvertible {
        case unknownTemplate
        case address
        case model

        package var description: String {
            switch self {
            case .unknownTemplate: "There is no such template."
            case .address: "The address cannot be written to."
            case .model: "The template's values are not as they should be."
            }
        }
    }

    package init(sender: MailAddress, shopName: String, templates: MailTemplates) {
        self.sender = sender
        self.shopName = shopName
        self.templates = templates
    }

    package func compose(_ mail: QueuedMail) throws(Problem) -> MailMessage {
        guard let parts = templates[mail.template] else { throw .unknownTemplate }
        guard let to = MailAddress(mail.toAddress, name: mail.toName) else { throw .address }
        guard let model = try? JSON(parsing: mail.model), var values = Self.values(mail.template, model) else {
            throw .model
        }
        values["shopName"] = shopName
        values["name"] = to.name
        return MailMessage(
            from: sender, to: to, subject: parts.subject.render(values), text: parts.text.render(values),
            html: parts.html.render(values), date: mail.queuedAt, messageId: "\(mail.messageId)@\(sender.domain)")
    }

    private static func values(_ template: String, _ model: JSON) -> [String: Any]? {
        switch template {
        case "order-confirmation": OrderConfirmation(model)?.values
        default: nil
        }
    }
}
