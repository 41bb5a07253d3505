import ParseProtocol

/// The parameters of `sendShopMail`, checked: a mail, and who gets it.
package struct ShopMailRequest: Sendable {
    /// One mail each; an address that is named twice is here once.
    package let recipients: [MailAddress]
    package let mail: WrittenMail

    private static let members: Set = ["to", "subject", "text", "html", "from", "replyTo"]
    package static let recipientsMax = 50
    /// Of a text in `to`: more than fifty addresses with names need.
    private static let textBytesMax = 32 << 10
    /// A word of this length still fits into a line of a header (998 bytes, RFC 5322 section 2.1.1).
    package static let subjectBytesMax = 900
    /// Of text and HTML together. The queue has them once per recipient.
    package static let contentBytesMax = 256 << 10

    /// - Parameters:
    ///   - parameters: `to`, a text or an array of texts with one or more addresses each; `text` or `html` or both;
    ///     optional `subject`, `from` and `replyTo`.
    ///   - sender: the shop's address. Every mail comes from it: other ones are where answers go.
    /// - Throws: `.validationError` (142) for anything else, also for a member that is not known: what a mail cannot
    ///   have must not be left out in silence.
    package init(_ parameters: JSON, sender: MailAddress) throws {
        for (name, value) in parameters.objectValue ?? [:] where !Self.members.contains(name) && !value.isNull {
            throw ParseError(
                .validationError,
                "\(name.prefix(64)) is not supported. A mail has \(Self.members.sorted().joined(separator: ", ")).")
        }
        recipients = try Self.recipients(parameters)
        let text = try Self.content(parameters, "text", bytesMax: Self.contentBytesMax)
        let html = try Self.content(parameters, "html", bytesMax: Self.contentBytesMax)
        guard !(text.isEmpty && html.isEmpty) else { throw ParseError(.validationError, "text or html is needed.") }
        guard text.utf8.count + html.utf8.count <= Self.contentBytesMax else {
            throw ParseError(.validationError, "text and html have \(Self.contentBytesMax) bytes together at most.")
        }
        let from = try Self.address(parameters, "from")
        let answers = try Self.address(parameters, "replyTo") ?? from
        let isOwn = answers?.address.lowercased() == sender.address.lowercased()
        mail = WrittenMail(
            subject: try Self.content(parameters, "subject", bytesMax: Self.subjectBytesMax), text: text, html: html,
            replyTo: isOwn ? nil : answers)
    }

    /// A text; an empty one for none.
    private static func content(_ parameters: JSON, _ name: String, bytesMax: Int) throws -> String {
        parameters[name] == "" ? "" : try parameters.textParameter(name, bytesMax: bytesMax) ?? ""
    }

    private static func recipients(_ parameters: JSON) throws -> [MailAddress] {
        let value = parameters["to"] ?? .null
        let texts = value.arrayValue ?? (value.isNull ? [] : [value])
        guard texts.count <= recipientsMax else { throw tooMany }
        var recipients: [MailAddress] = []
        var known: Set<String> = []
        var place = 0
        for text in texts {
            guard let text = text.stringValue, text.utf8.count <= textBytesMax else {
                throw ParseError(
                    .validationError, "to must be a text of \(textBytesMax) bytes at most, or an array of such.")
            }
            for found in AddressList.addresses(in: text) {
                place += 1
                // Not the address itself: errors come into logs.
                guard let found else {
                    throw ParseError(
                        .validationError,
                        "Address \(place) of to is none. It must be a@b.example or Ann <a@b.example>.")
                }
                if known.insert(found.address.lowercased()).inserted { recipients.append(found) }
                guard recipients.count <= recipientsMax else { throw tooMany }
            }
        }
        guard !recipients.isEmpty else { throw ParseError(.validationError, "to is needed: a mail address.") }
        return recipients
    }

    private static let tooMany = ParseError(.validationError, "to has \(recipientsMax) addresses at most.")

    /// The one address that a parameter names; nil for none.
    private static func address(_ parameters: JSON, _ name: String) throws -> MailAddress? {
        guard let value = parameters[name], !value.isNull, value != "" else { return nil }
        let found = value.stringValue.map(AddressList.addresses(in:)) ?? []
        guard found.count == 1, let address = found[0] else {
            throw ParseError(.validationError, "\(name) must be one mail address: a@b.example or Ann <a@b.example>.")
        }
        return address
    }
}
