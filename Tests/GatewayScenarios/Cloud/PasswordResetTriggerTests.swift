import ParseProtocol
import TestSupport
import Testing

/// Cloud code that decides which users may request a new password.
@Suite struct PasswordResetTriggerTests {
    private static let code = """
        Parse.Cloud.define('hello', () => 'hello');
        Parse.Cloud.beforePasswordResetRequest(async (request) => {
          const { object, triggerName, master, ip } = request;
          await new Parse.Object('ResetAsked').save({
            kind: object.className, email: object.get('email'), held: object.getSessionToken() || 'none',
            known: object.get('password') || 'none', triggerName, master, hasAddress: !!ip,
          }, { useMasterKey: true });
          if (object.get('blocked')) throw new Parse.Error(9205, 'Ask the shop.');
        });
        """

    private static func reset(_ address: String, _ suite: Suite) async throws -> ParseClient.Answer {
        try await ParseClient(suite).call(.POST, "/requestPasswordReset", ["email": .string(address)])
    }

    @Test func theCodeHearsOfTheUserAndRefuses() async throws {
        let suite = try await CloudSuite.start(Self.code)
        let master = ParseClient.master(suite)
        let (ann, bob) = (try await Customer.signUp(suite), try await Customer.signUp(suite))
        let blocked = try await master.call(.PUT, "/users/\(bob.userId)", ["blocked": true])
        try #require(blocked.status == 200, "\(blocked.text)")

        let allowed = try await Self.reset(ann.email, suite)
        #expect(allowed.status == 200)
        let unknown = try await Self.reset("\(Names.random(12))@nowhere.example", suite)
        #expect(unknown.status == 200)
        #expect(unknown.text == allowed.text, "An address that the code allows and one of nobody's are answered alike.")
        let refused = try await Self.reset(bob.email, suite)
        #expect(refused.code == 9205)
        #expect(refused["error"] == "Ask the shop.")
        let page = try await ParseClient(suite).post(
            form: ["email": bob.email], to: "/apps/satchel/request_password_reset")
        #expect(page.status == 400, "The page is no way around it.")
        let other = try await ParseClient(suite).call(
            .POST, "/verificationEmailRequest", ["email": .string(bob.email)])
        #expect(other.status == 200, "Nothing else is the trigger's.")

        let heard = try await master.find("ResetAsked", [:]).results
        #expect(heard.compactMap { $0["email"]?.stringValue }.sorted() == [ann.email, bob.email, bob.email].sorted())
        for one in heard {
            #expect(one["kind"] == "_User")
            #expect(one["triggerName"] == "beforePasswordResetRequest")
            #expect(one["master"] == false)
            #expect(one["hasAddress"] == true)
            #expect(one["held"] == "none")
            #expect(one["known"] == "none")
        }
        let link = try await MailedLink.newest("request_password_reset", to: ann.email, in: suite)
        #expect(try await link.open().status == 200)
        try await eventually("every mail has left") {
            try await suite.rows("users", "SELECT count(*) FROM outbox") == [[0]]
        }
        #expect(MailedLink.present("request_password_reset", to: bob.email, in: suite).isEmpty)
        await suite.stop()
    }

    /// The trigger runs only as often as a mail would be sent, so it cannot be used to test addresses faster.
    @Test func askingCountsAsItDoesWithoutATrigger() async throws {
        let suite = try await CloudSuite.start(Self.code, settings: ["SATCHEL_MAILS_PER_ADDRESS": "3"])
        var statuses: [Int] = []
        for _ in 0..<4 { statuses.append(try await Self.reset("\(Names.random(9))@nowhere.example", suite).status) }
        #expect(statuses == [200, 200, 200, 429])
        await suite.stop()
    }
}
