import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// T5a: an attacker signs up with another person's address, deletes the account and repeats that.
@Suite struct MailBombTests {
    @Test func manyAccountsCannotFloodOneMailbox() async throws {
        let suite = try await Suite.shared
        let mailbox = Names.random(10).lowercased()
        func mails() -> Int { suite.mails().count { ($0.header("To") ?? "").lowercased().contains(mailbox) } }
        for number in 0..<30 {
            // Different spellings of a mailbox count as one.
            let local = number % 3 == 0 ? "\(mailbox)+\(number)" : number % 3 == 1 ? mailbox.uppercased() : mailbox
            var client = ParseClient(suite)
            let made = try await client.call(
                .POST, "/users",
                [
                    "username": .string(Names.random(10)), "email": .string("\(local)@strangers.example"),
                    "password": "secret1",
                ])
            try #require(made.status == 201, "\(made.text)")
            client.sessionToken = made["sessionToken"]?.stringValue
            #expect(try await client.call(.DELETE, "/users/\(made.objectId)").status == 200)
        }
        try await eventually("every mail is in the spool") {
            let waiting = try await suite.rows("users", "SELECT count(*) FROM outbox WHERE kind = 'mail.send.v1'")
            return waiting == [[0]] && mails() > 0
        }
        try await Task.sleep(for: .seconds(1))
        #expect((1...6).contains(mails()), "\(mails()) mails reached the stranger.")
    }
}
