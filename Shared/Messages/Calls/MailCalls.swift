/// The calls of `mail` other than its functions.
public enum MailCalls {
    /// Queues a mail. Sender: the outboxes of bag and users.
    public static let send = Call<SendMailRequest, Accepted>("mail.send.v1", spreads: true)

    static let all: [any DeclaredCall] = [send]
}
