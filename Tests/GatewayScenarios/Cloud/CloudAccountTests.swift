import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Account triggers of cloud code: which linked accounts they see, when they run at a sign-in, that only they see a new
/// password, and the effect of errors thrown after the change.
@Suite struct CloudAccountTests {
    private static let code = """
        Parse.Cloud.define('hello', () => 'hello');
        // The suite is not healthy before this is done.
        module.exports = new Promise(done => setTimeout(done, 2000));
        const master = { useMasterKey: true };
        const note = (kind, of, value) => new Parse.Object('Seen').save({ kind, of, value }, master);
        const about = user => user
          ? { id: user.id || null, links: user.get('authData') || null, token: !!user.getSessionToken() } : null;
        Parse.Cloud.define('whoAmI', ({ user }) => about(user));
        Parse.Cloud.beforeSave(Parse.User, async request => {
          const { object, original, context } = request;
          await note('beforeSave', object.get('mark'), {
            isNew: object.isNew(), object: about(object), original: about(original), keys: object.dirtyKeys(),
          });
          const password = object.get('password');
          if (password === undefined) return;
          context.copies = [password];
          console.log('whole', object, request, object.attributes, JSON.stringify(object), `${password}`);
          console.log('hidden', require('util').inspect(request, { showHidden: true, depth: 9 }));
          if (object.get('mark') && !/[0-9]/.test(password)) throw new Parse.Error(142, `${password} has no digit.`);
        });
        Parse.Cloud.afterSave(Parse.User, ({ object, context }) => note('afterSave', object.get('mark'), {
          object: about(object), password: object.get('password') || null, context,
        }));
        Parse.Cloud.beforeLogin(({ object, user }) => {
          return note('beforeLogin', object.get('mark'), { object: about(object), user: about(user) });
        });
        Parse.Cloud.afterLogin(async ({ object, user }) => {
          await note('afterLogin', object.get('mark'), { object: about(object), user: about(user) });
          if (object.get('mark') === 'refused') throw new Parse.Error(9301, 'after sign-in');
        });
        Parse.Cloud.afterLogout(async ({ object }) => {
          const user = await object.get('user').fetch(master);
          if (user.get('mark') === 'refused') throw new Parse.Error(9302, 'after sign-out');
        });
        for (const name of ['afterSave', 'afterDelete']) {
          Parse.Cloud[name]('Thing', () => { throw new Parse.Error(9303, 'after the fact'); });
          Parse.Cloud[name](Parse.File, ({ file, triggerName, fileSize }) => {
            if (file.name().endsWith('coded.txt')) throw new Parse.Error(9304, `${triggerName} ${fileSize}`);
            if (file.name().endsWith('plain.txt')) throw 'no reason';
          });
        }
        Parse.Cloud.afterSave(Parse.Config, ({ object }) => {
          if (object.get('refused')) throw new Parse.Error(9305, 'after the change');
        });
        """

    private static let shared = Task {
        let peer = try await Peer.start("identity.py")
        let settings = [
            "SATCHEL_WEBHOOK_AWAIT_AFTER": "true", "SATCHEL_FILE_UPLOAD": "public",
            "SATCHEL_FACEBOOK_APP_IDS": "fb-app", "SATCHEL_FACEBOOK_APP_SECRET": "fb-secret",
            "SATCHEL_FACEBOOK_URL": "\(peer.url)/facebook",
        ]
        return (suite: try await CloudSuite.start(code, settings: settings), peer: peer)
    }
    private static var suite: Suite { get async throws { try await shared.value.suite } }

    /// The values that a trigger recorded about the users with a mark.
    private func seen(_ kind: String, _ mark: String, in suite: Suite) async throws -> [JSON] {
        let condition: JSON = ["kind": .string(kind), "of": .string(mark)]
        return try await ParseClient.master(suite).find("Seen", condition, ["order": "createdAt"]).results
            .compactMap { $0["value"] }
    }

    private static let password = "Correct-horse-battery-7"

    private func signUp(_ mark: String, in suite: Suite) async throws -> (name: String, answer: ParseClient.Answer) {
        let name = "\(mark)\(Names.random(8).lowercased())"
        let answer = try await ParseClient(suite).call(
            .POST, "/users",
            ["username": .string(name), "password": .string(Self.password), "mark": .string(mark)])
        return (name, answer)
    }

    /// `CloudSuite.start` calls the function only once, as soon as the suite reports that it is healthy.
    @Test func aHealthySuiteHasLoadedItsCode() async throws {
        let suite = try await Self.suite
        #expect(try await ParseClient(suite).run("hello").result == "hello")
    }

    // MARK: Links

    @Test func aUserWhoComesBackIsNotSavedAndSeenWithLinks() async throws {
        let suite = try await Self.suite
        let (client, master) = (ParseClient(suite), ParseClient.master(suite))
        let links: JSON = ["facebook": ["id": "30001"]]
        let wanted: JSON = ["authData": ["facebook": ProviderSuite.facebook("30001")], "mark": "linked"]
        let made = try await client.call(.POST, "/users", wanted)
        #expect(made.status == 201, "\(made.text)")
        let created = try #require(try await seen("beforeSave", "linked", in: suite).first)
        #expect(created["isNew"] == true)
        #expect(created.at("object", "links") == links, "Ids and no tokens: \(created.serializedText)")
        #expect(try await seen("afterSave", "linked", in: suite).first?.at("object", "links") == links)

        let back = try await client.call(.POST, "/users", wanted)
        #expect(back.status == 200, "\(back.text)")
        #expect(back.objectId == made.objectId)
        #expect(try await seen("beforeSave", "linked", in: suite).count == 1, "Signing in is no save.")
        #expect(try await seen("afterSave", "linked", in: suite).count == 1)
        for (kind, user) in [("beforeLogin", JSON.null), ("afterLogin", .string(made.objectId))] {
            let told = try #require(try await seen(kind, "linked", in: suite).first)
            #expect(told.at("object", "links") == links, "\(kind): \(told.serializedText)")
            #expect(told.at("object", "token") == .bool(kind == "afterLogin"))
            #expect((told.at("user", "id") ?? .null) == user)
        }

        var own = client
        own.sessionToken = back["sessionToken"]?.stringValue
        #expect(try await own.run("whoAmI").result == ["id": .string(made.objectId), "links": links, "token": true])
        // A change without `authData`.
        let path = "/users/\(made.objectId)"
        #expect(try await own.call(.PUT, path, ["color": "red"]).status == 200)
        let change = try #require(try await seen("beforeSave", "linked", in: suite).last)
        #expect(change["isNew"] == false)
        #expect(change.at("object", "links") == links && change.at("original", "links") == links)
        #expect(change["keys"] == ["color"])

        // Other clients do not see them.
        #expect(try await master.call(.PUT, path, ["ACL": ["*": ["read": true]]]).status == 200)
        for reader in [client, try await Customer.signUp(suite).client] {
            let read = try await reader.get(path)
            #expect(read["mark"] == "linked" && read["authData"] == nil, "\(read.text)")
        }
    }

    @Test func aProofThatDoesNotHoldReachesNoCode() async throws {
        let suite = try await Self.suite
        let wanted: JSON = [
            "authData": ["facebook": ProviderSuite.facebook("30002", token: "stolen")], "mark": "unproven",
        ]
        #expect(try await ParseClient(suite).call(.POST, "/users", wanted).code == 101)
        #expect(try await seen("beforeSave", "unproven", in: suite) == [])
    }

    @Test func anAnonymousIdIsNotShown() async throws {
        let suite = try await Self.suite
        let id = "0c1d2e3f-4a5b-6c7d-8e9f-\(Names.random(12))"
        let wanted: JSON = ["authData": ["anonymous": ["id": .string(id)]], "mark": "nameless"]
        let made = try await ParseClient(suite).call(.POST, "/users", wanted)
        #expect(made.status == 201, "\(made.text)")
        #expect(try await ParseClient(suite).call(.POST, "/users", wanted).objectId == made.objectId)
        let saved = try await seen("beforeSave", "nameless", in: suite)
        #expect(saved.map { $0.at("object", "links") } == [["anonymous": [:]]])
    }

    // MARK: Passwords

    @Test func aNewPasswordIsSeenByItsTriggerAndShownNowhere() async throws {
        let suite = try await Self.suite
        let weak = "no digit in \(Names.random(8).filter(\.isLetter)) here"
        let refused = try await ParseClient(suite).call(
            .POST, "/users", ["username": .string(Names.random(9)), "password": .string(weak), "mark": "weak"])
        #expect(refused.code == 142)
        #expect(refused["error"] == "[secret] has no digit.", "\(refused.text)")

        let (_, made) = try await signUp("strong", in: suite)
        #expect(made.status == 201, "\(made.text)")
        let keys = try await seen("beforeSave", "strong", in: suite).first?["keys"]?.arrayValue ?? []
        #expect(keys.contains("password"))
        let after = try #require(try await seen("afterSave", "strong", in: suite).first)
        #expect(after["password"] == .null)
        #expect(after["context"] == ["copies": ["[secret]"]])
        #expect(suite.logTails(lines: 10_000) { $0.contains("whole") }.contains("[secret]"))
        for text in [weak, Self.password] {
            #expect(suite.logTails(lines: 10_000) { $0.contains(text) } == "")
        }
        // A password change must also satisfy the code's rules.
        var own = ParseClient(suite)
        own.sessionToken = made["sessionToken"]?.stringValue
        let changed = try await own.call(.PUT, "/users/\(made.objectId)", ["password": .string(weak)])
        #expect(changed.code == 142 && changed["error"] == "[secret] has no digit.", "\(changed.text)")
    }

    // MARK: After-triggers

    @Test func afterTriggerErrorsReachTheClientExceptForSaves() async throws {
        let suite = try await Self.suite
        let (client, master) = (ParseClient(suite), ParseClient.master(suite))
        let thing = try await client.create("Thing", ["n": 1])
        #expect(thing.status == 201, "An object is saved whatever afterSave throws: \(thing.text)")
        let path = "/classes/Thing/\(thing.objectId)"
        let deleted = try await client.call(.DELETE, path)
        #expect(deleted.status == 400 && deleted.code == 9303, "\(deleted.text)")
        #expect(try await client.get(path).code == 101, "It is deleted all the same.")
        let other = try await client.create("Thing", ["n": 2])
        let batch = try await client.call(
            .POST, "/batch",
            ["requests": [["method": "DELETE", "path": .string("/parse/classes/Thing/\(other.objectId)")]]])
        #expect(batch.json.at(0, "error", "code") == 9303, "\(batch.text)")

        let (name, made) = try await signUp("refused", in: suite)
        #expect(made.status == 201, "\(made.text)")
        let signIn = try await client.call(
            .POST, "/login", ["username": .string(name), "password": .string(Self.password)])
        #expect(signIn.status == 400 && signIn.code == 9301, "\(signIn.text)")
        var own = client
        own.sessionToken = made["sessionToken"]?.stringValue
        let signOut = try await own.call(.POST, "/logout")
        #expect(signOut.status == 400 && signOut.code == 9302, "\(signOut.text)")
        #expect(try await own.get("/users/me").code == 209)

        let coded = try await client.upload(Array("four".utf8), as: "coded.txt", type: "text/plain")
        #expect(coded.status == 400 && coded.code == 9304 && coded["error"] == "afterSave 4", "\(coded.text)")
        let plain = try await client.upload(Array("four".utf8), as: "plain.txt", type: "text/plain")
        #expect(plain.code == 130 && plain["error"] == "no reason", "\(plain.text)")
        let names = try await suite.rows("catalog", "SELECT name FROM files").compactMap { $0.at(0)?.stringValue }
        for (suffix, code) in [("coded.txt", 9304), ("plain.txt", 153)] {
            let file = try #require(names.first { $0.hasSuffix(suffix) })
            let gone = try await master.call(.DELETE, "/files/\(file)")
            #expect(gone.code == code, "\(gone.text)")
            if code == 9304 { #expect(gone["error"] == "afterDelete null") }
        }
        let config = try await master.call(.PUT, "/config", ["params": ["refused": true]])
        #expect(config.status == 400 && config.code == 9305, "\(config.text)")
        #expect(try await client.get("/config").json.at("params", "refused") == true)
    }
}
