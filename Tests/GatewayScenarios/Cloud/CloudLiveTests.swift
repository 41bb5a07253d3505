import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Live query triggers: the code decides which clients connect, what they subscribe to and what an event shows. It can
/// only restrict the suite's own rules.
@Suite struct CloudLiveTests {
    private static let code = """
        Parse.Cloud.define('hello', request => `Hello ${request.params.name}`);
        Parse.Cloud.beforeConnect(request => {
          if (request.installationId === 'banned') throw new Parse.Error(9100, 'Not this device.');
          const { client, clients } = request;
          if (request.installationId === 'told') {
            throw new Parse.Error(9104, `${client.installationId} ${client.hasMasterKey} ${Number.isInteger(clients)}`);
          }
          if (request.installationId === 'nameless' && !request.user) throw 'Sign in first.';
        });
        Parse.Cloud.beforeSubscribe('LiveTold', ({ op, requestId }) => {
          throw new Parse.Error(9103, `${op} ${requestId}`);
        });
        Parse.Cloud.beforeSubscribe('LiveRoom', request => {
          if (request.master) return;
          if (!request.user) throw new Parse.Error(9101, 'Sign in first.');
          request.query.equalTo('owner', request.user.id).select('text', 'owner');
        });
        Parse.Cloud.beforeSubscribe('LiveSecret', request => { request.query.equalTo('secret', 'known'); });
        Parse.Cloud.beforeSubscribe('LiveHidden', request => { request.query.exclude('text'); });
        Parse.Cloud.beforeFind('LiveClosed', request => { request.query.equalTo('kind', 'open'); });
        Parse.Cloud.afterFind('LiveVeiled', request => request.objects.filter(one => one.get('kind') === 'open'));
        Parse.Cloud.beforeSubscribe('LiveVeiled', () => {});
        for (const name of ['beforeFind', 'beforeSubscribe']) {
          Parse.Cloud[name]('LiveAsked', request => { request.query.equalTo('kind', 'open'); });
        }
        Parse.Cloud.afterLiveQueryEvent('LiveShown', async request => {
          const kind = request.object.get('kind');
          if (kind === 'slow') await new Promise(done => setTimeout(done, 500));
          if (kind === 'quiet') request.sendEvent = false;
          if (kind === 'bad') throw new Parse.Error(9102, 'Not this one.');
          request.object.set('by', request.user ? request.user.id : 'guest').set('told', request.event);
          request.object.set('secret', 'leaked').unset('inner');
          if (request.original) request.original.set('by', 'before');
        });
        """

    private static var suite: Suite { get async throws { try await shared.value } }
    private static let shared = Task { try await CloudSuite.start(code) }

    /// A class whose field `secret` only the master key sees.
    private static func define(_ name: String, in suite: Suite) async throws {
        let schema = try await ParseClient.master(suite).call(
            .POST, "/schemas/\(name)",
            [
                "className": .string(name),
                "fields": [
                    "secret": ["type": "String"], "text": ["type": "String"], "mark": ["type": "String"],
                    "kind": ["type": "String"], "inner": ["type": "Number"],
                ],
                "classLevelPermissions": [
                    "find": ["*": true], "get": ["*": true], "create": ["*": true], "update": ["*": true],
                    "protectedFields": ["*": ["secret"]],
                ],
            ])
        guard schema.status < 300 else { throw Unexpected("POST schemas", schema) }
    }

    /// The suite with the class `LiveShown`.
    private static let shown = Task { () async throws -> Suite in
        let suite = try await shared.value
        try await define("LiveShown", in: suite)
        return suite
    }

    /// Connects and returns the answer, whatever it is.
    private func answer(_ suite: Suite, _ members: [String: JSON]) async throws -> (JSON, LiveConnection) {
        let live = try await LiveConnection(suite)
        let connect: [String: JSON] = ["op": "connect", "applicationId": "satchel"]
        try await live.send(.object(connect.merging(members) { $1 }))
        return (try await live.next(within: .seconds(60)), live)
    }

    /// An event stream, as a connection to read from.
    private func stream(_ suite: Suite, _ path: String, _ more: String...) throws -> RawConnection {
        let connection = try RawConnection(suite)
        let lines = [
            "GET /parse/live/\(path) HTTP/1.1", "Host: x", "X-Parse-Application-Id: satchel",
            "Accept: text/event-stream",
        ]
        connection.send(head: (lines + more).joined(separator: "\n"))
        return connection
    }

    private func read(_ connection: RawConnection, until text: String) async throws -> String {
        var all = ""
        try await eventually("\(text) in \(all)", within: .seconds(30)) {
            all += connection.read(within: 100) ?? ""
            return all.contains(text)
        }
        return all
    }

    // MARK: beforeConnect

    @Test func aConnectionThatIsRefusedEndsWithTheCodesError() async throws {
        let suite = try await Self.suite
        let (refused, live) = try await answer(suite, ["installationId": "banned"])
        #expect(refused["op"] == "error")
        #expect(refused["code"] == 9100)
        #expect(refused["error"] == "Not this device.")
        #expect(refused["reconnect"] == false)
        try await live.untilClosed()
        #expect(live.closeCode == 1008)
        let (other, _) = try await answer(suite, ["installationId": "welcome"])
        #expect(other["op"] == "connected", "\(other.serializedText)")
    }

    /// A void session does not count as a user.
    @Test func theCodeKnowsWhoConnects() async throws {
        let suite = try await Self.suite
        let token = try #require(try await Customer.anonymous(suite).client.sessionToken)
        for (token, op) in [(token, "connected"), ("r:nobody", "error")] {
            let (told, _) = try await answer(
                suite, ["installationId": "nameless", "sessionToken": .string(token)])
            #expect(told["op"] == .string(op), "\(told.serializedText)")
            if op == "error" { #expect(told["code"] == 141 && told["error"] == "Sign in first.") }
        }
    }

    @Test func theCodeIsToldOfTheClientAndOfItsSubscription() async throws {
        let suite = try await Self.suite
        let (told, _) = try await answer(suite, ["installationId": "told"])
        #expect(told["code"] == 9104 && told["error"] == "told false true", "\(told.serializedText)")
        let live = try await LiveConnection.connect(suite)
        #expect(try await live.subscribe(7, "LiveTold")["error"] == "subscribe 7")
    }

    // MARK: beforeSubscribe

    @Test func theCodeRefusesOrChangesAQuery() async throws {
        let suite = try await Self.suite
        let (ann, annId) = try await Customer.anonymous(suite)
        let live = try await LiveConnection.connect(suite)
        let refused = try await live.subscribe(1, "LiveRoom")
        #expect(refused["code"] == 9101)
        #expect(refused["error"] == "Sign in first.")
        #expect(refused["reconnect"] == false)
        #expect(!live.isClosed)
        // A refused subscription frees its number.
        let token = try #require(ann.sessionToken)
        #expect(try await live.subscribe(1, "LiveRoom", token: token)["op"] == "subscribed")
        let master = ParseClient.master(suite)
        for owner in ["somebody", annId] {
            _ = try await master.create("LiveRoom", ["owner": .string(owner), "text": "a", "more": 1])
        }
        let event = try await live.nextEvent(of: 1)
        #expect(event.at("object", "owner") == .string(annId), "The first one is not this user's.")
        #expect(event.at("object", "text") == "a")
        #expect(event.at("object", "more") == nil, "The code chose what is shown.")
    }

    /// The query that the code returns is checked with the client's rights.
    @Test func queriesOfTheCodeAreCheckedLikeTheClients() async throws {
        let suite = try await Self.suite
        try await Self.define("LiveSecret", in: suite)
        let live = try await LiveConnection.connect(suite)
        #expect(try await live.subscribe(1, "LiveSecret")["code"] == 119)
        #expect(try await live.subscribe(2, "LiveSecret", ["text": ["$bad": 1]])["code"] == 107)
        #expect(try await live.subscribe(3, "LiveHidden")["code"] == 102, "What is to be hidden is not shown.")
        let all = try await LiveConnection.connect(suite, ["masterKey": .string(Suite.masterKey)])
        #expect(try await all.subscribe(1, "LiveSecret")["op"] == "subscribed")
    }

    /// Find triggers do not run for events. A class with find triggers therefore needs a live query trigger too.
    @Test func aClassWithTriggersOfFindsNeedsThoseOfLiveQueries() async throws {
        let suite = try await Self.suite
        let live = try await LiveConnection.connect(suite)
        for (number, className) in [(Int64(1), "LiveClosed"), (2, "LiveVeiled")] {
            #expect(try await live.subscribe(number, className)["code"] == 119, "\(className)")
        }
        #expect(try await live.subscribe(3, "LiveAsked")["op"] == "subscribed")
        let master = ParseClient.master(suite)
        for kind in ["secret", "open"] { _ = try await master.create("LiveAsked", ["kind": .string(kind)]) }
        #expect(try await live.nextEvent(of: 3).at("object", "kind") == "open")
    }

    // MARK: afterLiveQueryEvent

    @Test func anEventIsChangedWithheldOrRefusedInItsOrder() async throws {
        let suite = try await Self.shown.value
        let client = ParseClient(suite)
        let mark = JSON.string(Names.random(8))
        let live = try await LiveConnection.connect(suite)
        try await live.subscribe(1, "LiveShown", ["mark": mark])
        try await live.subscribe(2, "LiveShown", ["mark": mark], ["keys": ["kind"]])
        var id = ""
        for kind in ["slow", "quiet", "bad", "fast"] {
            id = try await client.create("LiveShown", ["mark": mark, "kind": .string(kind), "inner": 1]).objectId
        }
        _ = try await client.call(.PUT, "/classes/LiveShown/\(id)", ["kind": "changed"])
        func isOf(_ requestId: Int64) -> (JSON) -> Bool { { $0["requestId"] == .int(requestId) } }
        var told: [JSON] = []
        for _ in 0..<4 { told.append(try await live.next(within: .seconds(30), where: isOf(1))) }
        #expect(told.map { $0["op"] } == ["create", "error", "create", "update"])
        #expect(told.map { $0.at("object", "kind") } == ["slow", nil, "fast", "changed"])
        #expect(told[1]["code"] == 9102)
        #expect(told[1]["error"] == "Not this one.")
        #expect(told[1]["reconnect"] == false)
        for event in [told[0], told[2], told[3]] {
            #expect(event.at("object", "by") == "guest")
            #expect(event.at("object", "told") == event["op"])
            #expect(event.at("object", "inner") == nil)
            #expect(event.at("object", "className") == "LiveShown")
            #expect(event.at("object", "__type") == "Object")
        }
        #expect(told[3].at("original", "by") == "before")
        #expect(told[3].at("object", "objectId") == .string(id))
        // The client did not select the field that the code set.
        for expected in ["slow", nil, "fast", "changed"] as [JSON?] {
            let event = try await live.next(within: .seconds(30), where: isOf(2))
            #expect(event.at("object", "kind") == expected)
            #expect(event.at("object", "by") == nil)
        }
        #expect(live.waiting.isEmpty)
    }

    /// CVE-2026-33163: a trigger does not leak a field that is protected from the client.
    @Test func advisory2026_33163_noTriggerAddsWhatIsProtected() async throws {
        let suite = try await Self.shown.value
        let (ann, annId) = try await Customer.anonymous(suite)
        let mark = JSON.string(Names.random(8))
        let token = try #require(ann.sessionToken)
        let live = try await LiveConnection.connect(suite, ["sessionToken": .string(token)])
        let all = try await LiveConnection.connect(suite, ["masterKey": .string(Suite.masterKey)])
        for connection in [live, all] { try await connection.subscribe(1, "LiveShown", ["mark": mark]) }
        _ = try await ParseClient.master(suite).create("LiveShown", ["mark": mark, "secret": "stored"])
        let event = try await live.nextEvent(of: 1)
        #expect(event.at("object", "by") == .string(annId))
        #expect(event.at("object", "secret") == nil, "\(event.serializedText)")
        #expect(try await all.nextEvent(of: 1).at("object", "secret") == "leaked")
    }

    @Test func streamsPassTheSameTriggers() async throws {
        let suite = try await Self.shown.value
        let refused = try await read(
            try stream(suite, "LiveFree", "X-Parse-Installation-Id: banned"), until: "9100")
        #expect(refused.hasPrefix("HTTP/1.1 400"))
        let unsigned = try await read(try stream(suite, "LiveRoom"), until: "9101")
        #expect(unsigned.hasPrefix("HTTP/1.1 400"))
        let mark = Names.random(8)
        let live = try stream(suite, "LiveShown?where=%7B%22mark%22:%22\(mark)%22%7D")
        _ = try await read(live, until: "event: subscribed")
        let client = ParseClient(suite)
        for kind in ["bad", "quiet", "last"] {
            _ = try await client.create("LiveShown", ["mark": .string(mark), "kind": .string(kind)])
        }
        let text = try await read(live, until: #""kind":"last""#)
        // The error replaces its event, and the stream continues.
        #expect(text.contains("event: error\nid: "), "\(text)")
        #expect(text.contains(#""code":9102"#))
        #expect(text.contains(#""by":"guest""#))
        #expect(!text.contains("quiet") && !text.contains("leaked"))
    }

    // MARK: Code that is down

    /// While the code is down, no event bypasses it, and classes without triggers continue.
    @Test(.timeLimit(.minutes(10))) func liveTriggersFailWhileTheCodeIsDown() async throws {
        let folder = try CloudSuite.folder(Self.code)
        let suite = try await CloudSuite.start(Self.code, settings: ["SATCHEL_CLOUD_CODE": folder])
        let client = ParseClient(suite)
        let free = try await LiveConnection.connect(suite)
        let bound = try await LiveConnection.connect(suite)
        try await free.subscribe(1, "LiveFree")
        try await bound.subscribe(1, "LiveShown")
        _ = try await client.create("LiveShown", ["kind": "first"])
        #expect(try await bound.nextEvent(of: 1).at("object", "by") == "guest")

        try "throw new Error('broken');".write(toFile: folder + "/main.js", atomically: true, encoding: .utf8)
        try await suite.kill("cloud-1")
        _ = try await client.create("LiveShown", ["kind": "second"])
        let end = try await bound.next(within: .seconds(60)) { $0["op"] == "error" }
        #expect([2, 124, 141].contains(end["code"]), "\(end.serializedText)")
        #expect(bound.waiting.allSatisfy { $0["object"] == nil })
        let refused = try await answer(suite, [:]).0
        #expect(refused["op"] == "error", "\(refused.serializedText)")
        // This existing connection is subscribed to a class without triggers.
        _ = try await client.create("LiveFree", ["n": 1])
        #expect(try await free.nextEvent(of: 1).at("object", "n") == 1)
        let token = try await Customer.anonymous(suite).client.sessionToken
        let subscribed = try await free.subscribe(2, "LiveRoom", token: token)
        #expect(subscribed["op"] == "error", "\(subscribed.serializedText)")
        await suite.stop()
    }
}
