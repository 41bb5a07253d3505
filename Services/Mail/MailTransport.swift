/// A way out for mails.
package protocol MailTransport: Sendable {
    /// Returns when the mail is safe. Sending the same `name` again is sending the same mail: the customer has it once.
    /// - Parameter name: unique per mail; letters, digits, `-` and `_`.
    /// - Throws: when it may be tried again later.
    func send(_ message: MailMessage, name: String) async throws
}
