import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Functions and triggers in JavaScript, from the client's request to the stored object, and code that hangs, dies or
/// calls itself.
@Suite struct CloudCodeTests {
    private static let code = """
        Parse.Cloud.define('hello', request => `Hello ${request.params.name}`);
        Parse.Cloud.define('whoami', request => [request.master, request.user ? request.user.id : null]);
        Parse.Cloud.define('refuse', () => { throw new Parse.Error(4242, 'Not today.'); });
        Parse.Cloud.define('broken', () => undefinedName.field);
        Parse.Cloud.define('pid', () => process.pid);
        Parse.Cloud.define('variables', () => [process.env.CODE_NAMED, process.env.CODE_OTHER || null,
          Object.keys(process.env).filter(name => /^(SATCHEL|SUPERVISOR)_/.test(name))]);
        Parse.Cloud.define('spin', () => { for (;;); });
        Parse.Cloud.define('child', () => require('child_process').spawn('/bin/sleep', ['600']).pid);
        Parse.Cloud.define('count', request =>
          new Parse.Query('CodeSecret').count({ useMasterKey: request.params.master === true }));
        Parse.Cloud.define('mine', request =>
          new Parse.Query('CodeSecret').count({ sessionToken: request.user.getSessionToken() }));
        Parse.Cloud.define('held', async () => {
          await new Parse.Object('CodeHeld').save({ pid: process.pid }, { useMasterKey: true });
          return new Promise(() => {});
        });
        Parse.Cloud.beforeSave('CodeCount', request => {
          request.object.increment('count');
          request.object.add('marks', 'code');
        });
        Parse.Cloud.beforeDelete('CodeNote', request => {
          if (request.object.get('kept')) throw new Parse.Error(9001, 'It is kept.');
        });
        Parse.Cloud.afterDelete('CodeNote', request =>
          new Parse.Object('CodeGone').save({ note: request.object.id }, { useMasterKey: true }));
        Parse.Cloud.afterFind('CodeFound', request => {
          for (const object of request.objects) object.set('seen', request.objects.length);
          return request.objects;
        });
        Parse.Cloud.beforeSave('CodeNote', request => {
          if (request.object.get('text') === 'bad') throw new Parse.Error(142, 'No bad notes.');
          request.object.set('checked', true);
          request.object.set('size', request.object.get('text').length);
          request.object.revert('wish');
          if (request.object.get('hint')) request.object.unset('hint');
        });
        Parse.Cloud.afterSave('CodeNote', request =>
          new Parse.Object('CodeHeard').save({ note: request.object.id }, { useMasterKey: true }));
        Parse.Cloud.beforeSave('CodeLoop', () => new Parse.Object('CodeLoop').save(null, { useMasterKey: true }));
        Parse.Cloud.beforeFind('CodeAnswered', request => {
          const { where } = request.query.toJSON();
          const made = new Parse.Object('CodeAnswered');
          made.set('text', 'made');
          if (where.kind === 'made' || where.objectId === 'thereisnone') return [made];
          if (where.kind === 'none') return [];
          const master = { useMasterKey: true };
          if (where.kind === 'all') return new Parse.Query('CodeAnswered').equalTo('kind', 'stored').find(master);
        });
        Parse.Cloud.beforeFind('CodeFound', request => { request.query.equalTo('shown', true); });
        """

    private static func start(functionSeconds: Int = 3) async throws -> Suite {
        try await CloudSuite.start(
            code,
            settings: [
                "SATCHEL_CLOUD_FUNCTION_SECONDS": "\(functionSeconds)", "SATCHEL_CLOUD_ENV": "CODE_NAMED",
                "CODE_NAMED": "given", "CODE_OTHER": "never-shown",
            ])
    }

    /// The suite that harmless tests share.
    private static var suite: Suite { get async throws { try await shared.value } }
    private static let shared = Task { try await start() }

    private func call(
        _ name: String, _ parameters: JSON = [:], by client: ParseClient
    ) async throws -> ParseClient.Answer {
        try await client.call(.POST, "/functions/\(name)", parameters)
    }

    @Test func aFunctionAnswersAndRefuses() async throws {
        let suite = try await Self.suite
        let client = ParseClient(suite)
        #expect(try await call("hello", ["name": "Ann"], by: client).result == "Hello Ann")
        let refused = try await call("refuse", by: client)
        #expect(refused.status == 400)
        #expect(refused.code == 4242)
        #expect(refused["error"] == "Not today.")
        #expect(try await call("broken", by: client).code == 141)
        try await eventually("the log has the line of the code") {
            suite.logTails { $0.contains("code.call=broken") }.contains("main.js:4")
        }
        #expect(try await call("nothing", by: client).code == 141)
    }

    @Test func codeGetsNamedVariablesAndTheLogNamesThoseThatItMisses() async throws {
        let suite = try await Self.suite
        #expect(try await call("variables", by: ParseClient(suite)).result == ["given", .null, []])
        try await eventually("the log names the variable") {
            suite.logTails { $0.contains("SATCHEL_CLOUD_ENV") }.contains("code.variables=CODE_OTHER")
        }
        #expect(!suite.logTails { _ in true }.contains("never-shown"))
    }

    @Test func aFunctionHasTheRightsThatItAsksFor() async throws {
        let suite = try await Self.suite
        let (master, ann) = (ParseClient.master(suite), try await Customer.signUp(suite))
        #expect(try await call("whoami", by: master).result == [true, .null])
        #expect(try await call("whoami", by: ann.client).result == [false, .string(ann.userId)])
        let mine: JSON = ["ACL": .object([ann.userId: ["read": true, "write": true]])]
        #expect(try await master.create("CodeSecret", ["ACL": [:]]).status == 201)
        #expect(try await master.create("CodeSecret", mine).status == 201)
        #expect(try await call("count", by: ann.client).result == 0, "Nobody's rights unless it says whose.")
        #expect(try await call("mine", by: ann.client).result == 1)
        #expect(try await call("count", ["master": true], by: ann.client).result == 2)
    }

    @Test func triggersHaveTheirSayInWrites() async throws {
        let suite = try await Self.suite
        let (client, master) = (ParseClient(suite), ParseClient.master(suite))
        let saved = try await client.create("CodeNote", ["text": "good", "wish": 1, "hint": "x", "seen": 1])
        #expect(saved.status == 201, "\(saved.text)")
        #expect(saved["checked"] == true, "The client hears what the code set.")
        let path = "/classes/CodeNote/\(saved.objectId)"
        let note = try await client.get(path)
        #expect(note["size"] == 4)
        #expect(note["wish"] == nil, "The code took it back.")
        #expect(note["hint"] == nil, "The code removed it.")
        let more: JSON = ["__op": "Increment", "amount": 2]
        #expect(try await client.call(.PUT, path, ["seen": more, "text": "better"]).status == 200)
        let changed = try await client.get(path)
        #expect(changed["seen"] == 3)
        #expect(changed["size"] == 6)
        let bad = try await client.create("CodeNote", ["text": "bad"])
        #expect(bad.code == 142)
        #expect(bad["error"] == "No bad notes.")
        #expect(try await master.find("CodeNote", ["text": "bad"]).results == [])
        try await eventually("afterSave heard of the one that was saved") {
            try await master.find("CodeHeard", ["note": .string(saved.objectId)]).results.count == 2
        }
    }

    @Test func aQueryIsWhatBeforeFindMakesOfIt() async throws {
        let client = ParseClient(try await Self.suite)
        for shown in [true, false] { _ = try await client.create("CodeFound", ["shown": .bool(shown)]) }
        let found = try await client.find("CodeFound", [:]).results
        #expect(found.map { $0["shown"] } == [true])
        #expect(found.map { $0["seen"] } == [1], "afterFind had its say.")
        // The same queries again, which a cache might now answer.
        #expect(try await client.find("CodeFound", [:]).results == found)
        let id = try #require(found.first?["objectId"]?.stringValue)
        #expect(try await client.get("/classes/CodeFound/\(id)")["seen"] == 1)
    }

    @Test func aBeforeFindMayAnswerObjectsItself() async throws {
        let suite = try await Self.suite
        let (client, master) = (ParseClient(suite), ParseClient.master(suite))
        let open = try await master.create("CodeAnswered", ["kind": "stored", "n": 1])
        let closed = try await master.create("CodeAnswered", ["kind": "stored", "n": 2, "ACL": [:]])
        #expect(closed.status == 201, "\(closed.text)")
        #expect(try await client.find("CodeAnswered", ["kind": "made"]).results.map { $0["text"] } == ["made"])
        #expect(try await client.find("CodeAnswered", ["kind": "none"]).results == [])
        let made = try await client.get("/classes/CodeAnswered/thereisnone")
        #expect(made["text"] == "made", "\(made.text)")
        // The client gets only those stored objects that it may read.
        let his = try await client.find("CodeAnswered", ["kind": "all"]).results
        #expect(his.map { $0["objectId"] } == [.string(open.objectId)])
        let all = try await master.find("CodeAnswered", ["kind": "all"]).results
        #expect(Set(all.compactMap { $0["n"]?.intValue }) == [1, 2])
    }

    @Test func operatorsOfTheClientAndTheCodeBecomeOne() async throws {
        let client = ParseClient(try await Self.suite)
        let made = try await client.create("CodeCount", ["count": 10])
        #expect(made.status == 201, "\(made.text)")
        let path = "/classes/CodeCount/\(made.objectId)"
        let change: JSON = [
            "count": ["__op": "Increment", "amount": 5], "marks": ["__op": "Add", "objects": ["client"]],
        ]
        #expect(try await client.call(.PUT, path, change).status == 200)
        let counted = try await client.get(path)
        #expect(counted["count"] == 17, "10 and 1, 5 and 1: \(counted.text)")
        #expect(counted["marks"] == ["code", "client", "code"])
    }

    @Test func beforeDeleteRefusesAndAfterDeleteHears() async throws {
        let suite = try await Self.suite
        let (client, master) = (ParseClient(suite), ParseClient.master(suite))
        let kept = try await client.create("CodeNote", ["text": "good", "kept": true])
        let refused = try await client.call(.DELETE, "/classes/CodeNote/\(kept.objectId)")
        #expect(refused.code == 9001)
        #expect(refused["error"] == "It is kept.")
        let other = try await client.create("CodeNote", ["text": "good"])
        #expect(try await client.call(.DELETE, "/classes/CodeNote/\(other.objectId)").status == 200)
        try await eventually("afterDelete heard of it") {
            try await master.find("CodeGone", [:]).results.compactMap { $0["note"] } == [.string(other.objectId)]
        }
    }

    @Test func aProcessThatDiesInAFunctionFailsThatCallAloneAndOnce() async throws {
        // Far longer than finding the process takes.
        let suite = try await Self.start(functionSeconds: 25)
        let (client, master) = (ParseClient(suite), ParseClient.master(suite))
        async let held = call("held", by: client)
        try await eventually("the function is under way") {
            try await master.find("CodeHeld", [:]).results.count == 1
        }
        let note = try await master.find("CodeHeld", [:]).results.first
        let pid = pid_t(try #require(note?["pid"]?.intValue))
        #expect(kill(pid, SIGKILL) == 0)
        let died = try await held
        #expect(died.code == 141)
        #expect(died["error"] == "The process of the cloud code ended while it worked on this.")
        #expect(try await call("hello", ["name": "you"], by: client).status == 200)
        #expect(try await master.find("CodeHeld", [:]).results.count == 1, "It is not called again.")
        await suite.stop()
    }

    @Test func codeThatCallsItselfForEverIsStopped() async throws {
        let client = ParseClient(try await Self.suite)
        let refused = try await client.create("CodeLoop", [:])
        #expect(refused.code == 141)
        #expect(refused["error"]?.stringValue?.contains("8 levels") == true, "\(refused.text)")
        #expect(try await client.find("CodeLoop", [:]).results == [])
    }

    @Test(.timeLimit(.minutes(10))) func codeThatStandsStillOrDiesHarmsItselfAlone() async throws {
        let suite = try await Self.start()
        let client = ParseClient(suite)
        try await eventually("both processes have loaded") {
            async let one = call("pid", by: client).result
            async let other = call("pid", by: client).result
            return try await one != other
        }
        async let spinning = call("spin", by: client)
        for _ in 0..<20 { #expect(try await call("hello", ["name": "you"], by: client).status == 200) }
        let ended = try await spinning
        #expect(ended.code == 141)
        #expect(ended["error"] == "The cloud code took longer than it may and was ended.")

        let pid = pid_t(try #require(try await call("pid", by: client).result.intValue))
        #expect(kill(pid, SIGKILL) == 0)
        try await eventually("its end was seen") { kill(pid, 0) != 0 }
        #expect(try await call("hello", ["name": "you"], by: client).status == 200)

        // A gateway that cannot reach the code does not skip its trigger.
        try await suite.kill("cloud-1")
        let note = try await client.create("CodeNote", ["text": "good"])
        #expect(note.status >= 400 || note["checked"] == true, "\(note.text)")
        try await eventually("the code is back") {
            try await client.create("CodeNote", ["text": "good"])["checked"] == true
        }

        let child = OtherProcess(pid: pid_t(try #require(try await call("child", by: client).result.intValue)))
        #expect(child.isAlive)
        try await suite.restart("cloud-1")
        try await eventually("what the code started has ended with the service") { !child.isAlive }
        await suite.stop()
    }

    @Test func withoutCodeThereIsNoProcess() async throws {
        let suite = try await Suite.shared
        let pid = try #require(suite.processId(of: "cloud-1"))
        let threads = try FileManager.default.contentsOfDirectory(atPath: "/proc/\(pid)/task")
        for thread in threads {
            let file = "/proc/\(pid)/task/\(thread)/children"
            let children = FileManager.default.contents(atPath: file).map { String(decoding: $0, as: UTF8.self) }
            #expect((children ?? "").isEmpty)
        }
        let answer = try await ParseClient(suite).call(.POST, "/functions/hello", [:])
        #expect(answer["error"] == #"Invalid function: "hello""#)
    }
}
