import Foundation
import Messages
import ObjectStore
import ParseProtocol

/// A mail that an operator writes to a customer: plain text, so that nothing in it is markup.
package struct CustomerMail: Sendable {
    let subject: String
    let text: String

    private static let subjectBytesMax = 200
    /// The mail service sends it as it is (`FreeTextMail`).
    private static let template = "message"

    /// - Throws: `.incorrectType` (111) for a value that is not a string, `.validationError` (142) for a text that is
    ///   empty, too long or not plain text, and for a subject of several lines.
    package init(_ parameters: JSON) throws {
        subject = try PlainText.parse(
            parameters["subject"] ?? "", "subject", bytesMax: Self.subjectBytesMax, isLine: true)
        guard !subject.allSatisfy(\.isWhitespace) else { throw ParseError(.validationError, "subject is empty.") }
        text = try OrderNotes.text(parameters)
    }

    /// The mail service's message. The quotas of mails that clients cause apply to it, too: an operator's stolen
    /// session must not flood a mailbox. Replies go to the shop.
    /// - Parameter orderNo: 0 for none.
    func message(to address: String, orderNo: Int64) -> SendMailRequest {
        let model: JSON = ["subject": .string(subject), "text": .string(text), "html": ""]
        return SendMailRequest.with {
            $0.template = Self.template
            $0.toAddress = address
            $0.model = Data(model.serialized)
            $0.orderNumber = orderNo
        }
    }
}
