import ParseProtocol

/// The validated parameters of `sendShopMail`: a mail and its recipients.
package struct ShopMailRequest: Sendable {
    /// The mail for one of its recipients.
    package struct Copy: Sendable {
        package let recipient: MailAddress
        package let mail: FreeTextMail
    }

    /// One copy per recipient, `to` first. An address that is named twice appears once.
    package let copies: [Copy]
    package var recipients: [MailAddress] { copies.map(\.recipient) }

    private static let members: Set = [
        "to", "cc", "bcc", "subject", "text", "html", "from", "replyTo", "attachments",
    ]
    /// Maximum addresses in `to`, `cc` and `bcc` together.
    package static let recipientsMax = 50
    package static let attachmentsMax = 10
    /// Maximum bytes of all attachments together. The queue stores them once per recipient.
    package static let attachmentBytesMax = 1 << 20
    /// Maximum bytes of one string in `to`; enough for fifty addresses with names.
    private static let textBytesMax = 32 << 10
    /// A word of this length still fits into a header line (998 bytes, RFC 5322 section 2.1.1).
    package static let subjectBytesMax = 900
    /// Maximum bytes of text and HTML together. The queue stores them once per recipient.
    package static let contentBytesMax = 256 << 10

    /// - Parameters:
    ///   - parameters: `to`, a text or an array of texts with one or more addresses each; `text` or `html` or both;
    ///     optional `cc` and `bcc` like `to`, `subject`, `from`, `replyTo` and `attachments`.
    ///   - sender: the shop's address. Every mail is sent from it; a different `from` becomes the reply address.
    /// - Throws: `.validationError` (142) for anything else, also for an unknown member, so that no requested feature
    ///   is dropped silently.
    package init(_ parameters: JSON, sender: MailAddress) throws {
        for (name, value) in parameters.objectValue ?? [:] where !Self.members.contains(name) && !value.isNull {
            throw ParseError(
                .validationError,
                """
                sendShopMail has no parameter \(name.prefix(64)). It accepts \
                \(Self.members.sorted().joined(separator: ", ")).
                """)
        }
        var known: Set<String> = []
        let to = try Self.recipients(parameters, "to", &known)
        guard !to.isEmpty else { throw ParseError(.validationError, "to is needed: a mail address.") }
        let cc = try Self.recipients(parameters, "cc", &known)
        let bcc = try Self.recipients(parameters, "bcc", &known)
        let text = try Self.content(parameters, "text", bytesMax: Self.contentBytesMax)
        let html = try Self.content(parameters, "html", bytesMax: Self.contentBytesMax)
        guard !(text.isEmpty && html.isEmpty) else { throw ParseError(.validationError, "text or html is needed.") }
        guard text.utf8.count + html.utf8.count <= Self.contentBytesMax else {
            throw ParseError(.validationError, "text and html may have at most \(Self.contentBytesMax) bytes together.")
        }
        let from = try Self.address(parameters, "from")
        let replyTo = try Self.address(parameters, "replyTo") ?? from
        let isOwn = replyTo?.address.lowercased() == sender.address.lowercased()
        var mail = FreeTextMail(
            subject: try Self.content(parameters, "subject", bytesMax: Self.subjectBytesMax), text: text, html: html,
            replyTo: isOwn ? nil : replyTo)
        mail.attachments = try Self.attachments(parameters)
        mail.ccHeader = cc
        var ccMail = mail
        ccMail.toHeader = to
        var bccMail = ccMail
        bccMail.isBlind = true
        copies = [(to, mail), (cc, ccMail), (bcc, bccMail)].flatMap { recipients, mail in
            recipients.map { Copy(recipient: $0, mail: mail) }
        }
    }

    private static func attachments(_ parameters: JSON) throws -> [MailAttachment] {
        guard let value = parameters["attachments"], !value.isNull else { return [] }
        guard let list = value.arrayValue, list.count <= attachmentsMax else {
            throw ParseError(.validationError, "attachments must be an array of at most \(attachmentsMax).")
        }
        let attachments = try list.map { try MailAttachment($0) }
        guard attachments.reduce(0, { $0 + $1.content.count }) <= attachmentBytesMax else {
            throw ParseError(.validationError, "attachments may have at most \(attachmentBytesMax) bytes together.")
        }
        return attachments
    }

    /// A text; empty when absent.
    private static func content(_ parameters: JSON, _ name: String, bytesMax: Int) throws -> String {
        parameters[name] == "" ? "" : try parameters.textParameter(name, bytesMax: bytesMax) ?? ""
    }

    /// - Parameter known: the addresses named before, in lower case.
    private static func recipients(
        _ parameters: JSON, _ name: String, _ known: inout Set<String>
    ) throws -> [MailAddress] {
        let value = parameters[name] ?? .null
        let texts = value.arrayValue ?? (value.isNull ? [] : [value])
        guard texts.count <= recipientsMax else { throw tooMany }
        var recipients: [MailAddress] = []
        var place = 0
        for text in texts {
            guard let text = text.stringValue, text.utf8.count <= textBytesMax else {
                throw ParseError(
                    .validationError,
                    "\(name) must be a string of at most \(textBytesMax) bytes, or an array of such strings.")
            }
            for found in AddressList.addresses(in: text) {
                place += 1
                // Leaves out the address itself, because errors are logged.
                guard let found else {
                    throw ParseError(
                        .validationError,
                        "Address \(place) of \(name) is not valid. It must be a@b.example or Ann <a@b.example>.")
                }
                if known.insert(found.address.lowercased()).inserted { recipients.append(found) }
                guard known.count <= recipientsMax else { throw tooMany }
            }
        }
        return recipients
    }

    private static let tooMany = ParseError(
        .validationError, "to, cc and bcc may have at most \(recipientsMax) addresses together.")

    /// The single address in a parameter; nil when absent.
    private static func address(_ parameters: JSON, _ name: String) throws -> MailAddress? {
        guard let value = parameters[name], !value.isNull, value != "" else { return nil }
        let found = value.stringValue.map(AddressList.addresses(in:)) ?? []
        guard found.count == 1, let address = found[0] else {
            throw ParseError(.validationError, "\(name) must be one mail address: a@b.example or Ann <a@b.example>.")
        }
        return address
    }
}
