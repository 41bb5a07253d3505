import Outbound
import Testing

/// The stage and the reply of an SMTP dialogue that fails.
@Suite struct MailDialogueTests {
    private func send(_ line: String, in dialogue: inout MailDialogue) {
        Array("\(line)\r\n".utf8).withUnsafeBytes { dialogue.sent($0) }
    }

    private func receive(_ lines: String..., in dialogue: inout MailDialogue) {
        for line in lines { Array("\(line)\r\n".utf8).withUnsafeBytes { dialogue.received($0) } }
    }

    private func greeted() -> MailDialogue {
        var dialogue = MailDialogue()
        receive("220 mail.example.org", in: &dialogue)
        send("EHLO shop", in: &dialogue)
        receive("250-mail.example.org", "250-SIZE 1000", "250 HELP", in: &dialogue)
        return dialogue
    }

    @Test func theLinesOfAReplyAreJoined() {
        var dialogue = greeted()
        #expect(dialogue.reply == "250-mail.example.org 250-SIZE 1000 250 HELP")
        send("MAIL FROM:<shop@example.org>", in: &dialogue)
        receive("550-5.7.1 Not from here.", "550 5.7.1 See the manual.", in: &dialogue)
        #expect(dialogue.stage == .sender)
        #expect(dialogue.reply == "550-5.7.1 Not from here. 550 5.7.1 See the manual.")
    }

    @Test func theReplyToTheContentIsWhole() {
        var dialogue = greeted()
        for command in ["MAIL FROM:<shop@example.org>", "RCPT TO:<ann@example.org>"] {
            send(command, in: &dialogue)
            receive("250 OK", in: &dialogue)
        }
        send("DATA", in: &dialogue)
        receive("354 Go ahead.", in: &dialogue)
        receive("550-5.7.1 The mail is refused.", "550 5.7.1 See the manual.", in: &dialogue)
        #expect(dialogue.stage == .content)
        #expect(dialogue.reply == "550-5.7.1 The mail is refused. 550 5.7.1 See the manual.")
    }

    @Test func repliesToALoginAreNotStored() {
        var dialogue = greeted()
        send("AUTH LOGIN", in: &dialogue)
        receive("535-5.7.8 secret", "535 5.7.8 secret", in: &dialogue)
        #expect(dialogue.stage == .login)
        #expect(dialogue.reply.isEmpty)
    }
}
