/// The parts of an SMTP dialogue that describe a failure: the stage, and the last reply.
package struct MailDialogue {
    package private(set) var stage = OutboundFailure.MailStage.connection
    /// The lines of the last reply, joined.
    package private(set) var reply = ""
    /// Whether the next received line is the first of its reply.
    private var isNewReply = true
    /// QUIT was sent.
    private(set) var hasEnded = false

    /// Limit of the stored reply. A reply may have any number of lines; an operator needs the first.
    private static let replyBytesMax = 400

    package init() {}

    /// Notes a sent line. Lines of a login that are not commands do not change the stage.
    package mutating func sent(_ bytes: UnsafeRawBufferPointer) {
        let line = String(decoding: bytes.prefix(12), as: UTF8.self).uppercased()
        if line.hasPrefix("QUIT") { hasEnded = true }
        guard !hasEnded else { return }
        isNewReply = true
        if line.hasPrefix("AUTH ") {
            stage = .login
        } else if line.hasPrefix("MAIL FROM:") {
            stage = .sender
        } else if line.hasPrefix("RCPT TO:") {
            stage = .recipient
        } else if stage == .recipient, line.hasPrefix("DATA") {
            stage = .content
        }
    }

    /// Notes a received line. Replies to a login are not stored, because a server might repeat the credentials.
    package mutating func received(_ bytes: UnsafeRawBufferPointer) {
        guard !hasEnded else { return }
        if isNewReply { reply = "" }
        // All lines but the last have a hyphen after the code. The reply to the content follows the reply to DATA
        // without a command in between.
        isNewReply = bytes.count < 4 || bytes[3] != UInt8(ascii: "-")
        guard stage != .login, reply.utf8.count < Self.replyBytesMax else { return }
        let text = String(decoding: bytes.prefix(Self.replyBytesMax), as: UTF8.self)
        let plain = text.unicodeScalars.map { $0.value < 32 || $0.value == 127 ? " " : String($0) }.joined()
        let words = plain.split(separator: " ").joined(separator: " ")
        reply += (reply.isEmpty ? "" : " ") + words
    }
}
