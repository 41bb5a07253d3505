import Configuration

/// The settings of the mail service.
struct MailConfiguration: Sendable {
    /// `SATCHEL_MAIL_FROM`: the address that mails come from.
    let sender: MailAddress
    /// `SATCHEL_SHOP_NAME`: how the shop calls itself in mails.
    let shopName: String
    /// `SATCHEL_MAIL_TEMPLATES`: a folder with files in place of the installed templates.
    let templatesFolder: String?

    enum Problem: Error, CustomStringConvertible {
        case provider(String)
        case sender(String)

        var description: String {
            switch self {
            case .provider(let name):
                "SATCHEL_MAIL=\(name) is not available in this version; only spool is, which writes each mail to a file."
            case .sender(let address): "SATCHEL_MAIL_FROM=\(address) is not a mail address."
            }
        }
    }

    /// - Throws: `Problem`, which ends the service's start.
    init(reader: ConfigReader) throws {
        let provider = reader.string(forKey: "satchel.mail", default: "spool")
        guard provider == "spool" else { throw Problem.provider(provider) }
        shopName = reader.string(forKey: "satchel.shop.name", default: "Satchel")
        templatesFolder = reader.string(forKey: "satchel.mail.templates").flatMap { $0.isEmpty ? nil : $0 }
        let address = reader.string(forKey: "satchel.mail.from", default: "shop@satchel.example")
        guard let sender = MailAddress(address, name: shopName) else { throw Problem.sender(address) }
        self.sender = sender
    }
}
