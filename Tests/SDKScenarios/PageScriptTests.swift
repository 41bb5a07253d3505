import ParseProtocol
import TestSupport
import Testing

/// The password routes for an app's own page, whose script sends `X-Requested-With: XMLHttpRequest`.
@Suite struct PageScriptTests {
    private func post(_ suite: Suite, _ path: String, _ form: [String: String]) async throws -> ParseClient.Answer {
        try await ParseClient(suite).send(
            .POST, path,
            headers: [
                ("Content-Type", "application/x-www-form-urlencoded"), ("X-Requested-With", "XMLHttpRequest"),
            ],
            body: Array(ParseClient.queryText(form.mapValues(JSON.string)).utf8))
    }

    @Test(arguments: ["/apps/choose_password", "/apps/satchel/request_password_reset"])
    func aScriptIsAnsweredInJSON(_ path: String) async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        let asked = try await post(suite, path, ["email": customer.email])
        #expect(asked.status == 200, "\(asked.text)")
        #expect(asked.json == [:], "\(asked.text)")
        let link = try await MailedLink.newest("request_password_reset", to: customer.email, in: suite)
        let token = link.token
        for (form, code) in [
            (["token": token], 201), (["new_password": "a new secret"], -1),
            (["token": token, "new_password": "12345"], 142),
            (["token": token, "new_password": "a new secret", "repeated_password": "another"], 142),
            (["token": String(repeating: "0", count: 32), "new_password": "a new secret"], -1),
        ] as [([String: String], Int)] {
            let refused = try await post(suite, path, form)
            #expect(refused.status == 400, "\(form): \(refused.text)")
            #expect(refused.code == code, "\(form): \(refused.text)")
            #expect(refused.headers.first(name: "Content-Type") == "application/json; charset=utf-8")
        }
        let changed = try await post(suite, path, ["token": token, "new_password": "a new secret"])
        #expect(changed.status == 200, "\(changed.text)")
        #expect(changed.json == "Password successfully reset", "\(changed.text)")
        #expect(try await post(suite, path, ["token": token, "new_password": "a new secret"]).code == -1)
        let login: JSON = ["username": .string(customer.email), "password": "a new secret"]
        #expect(try await ParseClient(suite).call(.POST, "/login", login).status == 200)
        #expect(try await post(suite, path, ["email": "no address"]).code == 125)
    }
}
