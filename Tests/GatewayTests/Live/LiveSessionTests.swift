import GatewayService
import Messages
import NIOCore
import ParseProtocol
import Testing

/// The live query protocol: the meaning of each message, refusals, and the limits per client.
@Suite struct LiveSessionTests {
    private static func text(_ json: JSON) -> [UInt8] { json.serialized }

    private static func subscribe(_ id: Int64) -> [UInt8] {
        text(["op": "subscribe", "requestId": .int(id), "query": ["className": "Note", "where": [:]]])
    }

    private static func connected(subscriptionsMax: Int = 3) -> LiveSession {
        var session = LiveSession(subscriptionsMax: subscriptionsMax)
        _ = session.received(text(["op": "connect", "applicationId": "satchel"]), now: 0)
        session.connected()
        return session
    }

    private static func code(_ action: LiveSession.Action?) -> Int? {
        switch action {
        case .refuse(let problem), .end(let problem): problem.code
        default: nil
        }
    }

    @Test(
        arguments: [
            "", "[]", "null", "{", "{}", #"{"op":1}"#, #"{"op":"select"}"#, #"{"op":"connect"}"#,
            #"{"op":"connect","applicationId":7}"#, #"{"op":"connect","applicationId":"a","more":1}"#,
            #"{"op":"subscribe","query":{"className":"A","where":{}}}"#,
            #"{"op":"subscribe","requestId":1.5,"query":{"className":"A","where":{}}}"#,
            #"{"op":"subscribe","requestId":1,"query":{"where":{}}}"#,
            #"{"op":"subscribe","requestId":1,"query":{"className":"A","where":[]}}"#,
            #"{"op":"subscribe","requestId":1,"query":{"className":"A","where":{},"include":["b"]}}"#,
            #"{"op":"subscribe","requestId":1,"query":{"className":"A","where":{},"keys":["b","b"]}}"#,
            #"{"op":"subscribe","requestId":1,"query":{"className":"A","where":{},"keys":"b"}}"#,
            #"{"op":"subscribe","requestId":1,"query":{"className":"A","where":{}},"cursor":"x"}"#,
            #"{"op":"unsubscribe"}"#, #"{"op":"unsubscribe","requestId":1,"x":1}"#,
        ])
    func whatIsNoMessageIsRefusedWithCode1(_ text: String) {
        #expect(throws: LiveProblem.self) { try LiveRequest(Array(text.utf8)) }
        var session = Self.connected()
        #expect(Self.code(session.received(Array(text.utf8), now: 0)) == 1)
        #expect(!session.isOver)
    }

    /// SDKs recognize these texts, reconnect, and omit the options that they sent beyond the first protocol version.
    @Test(arguments: [
        #"{"op":"subscribe","requestId":1,"query":{"className":"A","where":{},"include":["b"]}}"#,
        #"{"op":"subscribe","requestId":1,"query":{"className":"A","where":{}},"more":1}"#,
        #"{"op":"connect","applicationId":"a","more":1}"#, #"{"op":"unsubscribe","requestId":1,"x":1}"#,
    ])
    func anUnknownMemberHasTheWordsThatSDKsLookFor(_ text: String) {
        var session = Self.connected()
        guard case .refuse(let problem)? = session.received(Array(text.utf8), now: 0) else {
            Issue.record("\(text) is not refused.")
            return
        }
        #expect(problem == LiveProblem(1, "Additional properties not allowed", reconnects: true))
    }

    /// As in a find: a query with hundreds of conditions affects only its sender's connection.
    @Test func moreConditionsWithPatternsThanAQueryMayHaveAreRefused() {
        func code(_ count: Int) -> Int? {
            let patterns = (0..<count).map { JSON.object(["a": ["$regex": .string("^\($0)")]]) }
            var session = Self.connected()
            return Self.code(
                session.received(
                    Self.text([
                        "op": "subscribe", "requestId": 7,
                        "query": ["className": "Note", "where": ["$or": .array(patterns)]],
                    ]), now: 0))
        }
        #expect(code(PatternBudget.countMax) == nil)
        #expect(code(PatternBudget.countMax + 1) == 102)
    }

    /// As in the SDKs' sources: JavaScript omits absent members, Flutter sends `fields`, iOS sends empty tokens.
    @Test func messagesOfTheSDKsAreUnderstood() throws {
        let connect = Self.text([
            "op": "connect", "applicationId": "a", "javascriptKey": "k", "masterKey": .null, "sessionToken": "",
            "installationId": "i",
        ])
        guard case .connect(let who) = try LiveRequest(connect) else { throw LiveProblem(0, "no connect") }
        #expect(who.keys == ["javascriptKey": "k"])
        #expect(who.sessionToken == nil)
        #expect(who.installationId == "i")
        let flutter = Self.text([
            "op": "subscribe", "requestId": 3, "installationId": "i", "sessionToken": "r:1",
            "query": ["className": "A", "where": ["b": 1], "fields": ["b"]],
        ])
        guard case .subscribe(let what) = try LiveRequest(flutter) else { throw LiveProblem(0, "no subscribe") }
        #expect(
            what.query == SubscribedQuery(className: "A", condition: Array(#"{"b":1}"#.utf8), keys: ["b"], watch: []))
        #expect(what.sessionToken == "r:1")
    }

    @Test func nothingIsSubscribedBeforeTheKeysAreRight() {
        var session = LiveSession(subscriptionsMax: 3)
        #expect(Self.code(session.received(Self.subscribe(1), now: 0)) == 2)
        let connect = Self.text(["op": "connect", "applicationId": "satchel"])
        guard case .connect = session.received(connect, now: 0) else { return #expect(Bool(false)) }
        #expect(Self.code(session.received(Self.subscribe(1), now: 0)) == 2)
        session.connected()
        guard case .subscribe = session.received(Self.subscribe(1), now: 0) else { return #expect(Bool(false)) }
        #expect(Self.code(session.received(connect, now: 0)) == 1)
    }

    @Test func aConnectionHasSoManySubscriptions() {
        var session = Self.connected(subscriptionsMax: 2)
        for id in 1...2 { #expect(Self.code(session.received(Self.subscribe(Int64(id)), now: 0)) == nil) }
        #expect(Self.code(session.received(Self.subscribe(3), now: 0)) == 155)
        // A repeated id replaces the first subscription instead of adding one.
        #expect(Self.code(session.received(Self.subscribe(2), now: 0)) == nil)
        session.ended(1)
        #expect(Self.code(session.received(Self.subscribe(3), now: 0)) == nil)
        let gone = Self.text(["op": "unsubscribe", "requestId": 3])
        #expect(session.received(gone, now: 0) == .unsubscribe(requestId: 3))
        #expect(Self.code(session.received(gone, now: 0)) == 2)
        let update = Self.text(["op": "update", "requestId": 9, "query": ["className": "Note", "where": [:]]])
        #expect(Self.code(session.received(update, now: 0)) == 2)
    }

    @Test func aFloodOfMessagesEndsTheConnection() {
        var session = Self.connected()
        var ends = 0
        for _ in 0..<1000 {
            if case .end(let problem)? = session.received(Self.text(["op": "unsubscribe", "requestId": 1]), now: 1) {
                #expect(problem.code == 155)
                ends += 1
            }
        }
        #expect(ends == 1)
        #expect(session.isOver)
    }

    @Test func aCursorIsReadAsItIsWritten() {
        let cursor = LiveCursor(feed: .max, position: 1_234_567)
        #expect(LiveCursor(cursor.text) == cursor)
        for text in ["", "-", "a", "1-", "-1", "1-2-3", "é-1"] { #expect(LiveCursor(text) == nil) }
    }

    @Test func whatWaitsForASlowClientIsBounded() {
        var queue = LiveQueue<Int>(bytesMax: 100)
        let first = queue.append(1, bytes: 300)
        #expect(first, "One alone passes.")
        let second = queue.append(2, bytes: 1)
        #expect(!second)
        #expect(queue.next() == 1)
        for number in 0..<10 {
            let fits = queue.append(number, bytes: 10)
            #expect(fits)
        }
        let eleventh = queue.append(11, bytes: 1)
        #expect(!eleventh)
        #expect((0..<10).allSatisfy { queue.next() == $0 })
        #expect(queue.isEmpty && queue.bytes == 0)
    }

    @Test func whatWaitsForAllIsBounded() {
        let backlog = LiveBacklog()
        let (most, more) = (backlog.add(LiveBacklog.bytesMax), backlog.add(1))
        #expect(most && !more)
        backlog.add(-2)
        let again = backlog.add(1)
        #expect(again)
    }

    /// The client of the stream reads nothing, and events go on for a while.
    @Test func bytesThatAnEndedStreamRefusesAreNotCounted() {
        let backlog = LiveBacklog()
        let (texts, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
        let sink = LiveStreamSink(continuation, bytesMax: 100, backlog: backlog)
        let subscription = LiveSubscription(
            requestId: 1,
            query: SubscribedQuery(className: "Note", condition: Array("{}".utf8), keys: [], watch: []),
            sessionToken: nil, sink: sink)
        let event = LiveDelivery(
            kind: .update, cursor: LiveCursor(feed: 1, position: 1), object: [UInt8](repeating: 0x20, count: 8 << 20),
            original: nil)
        for _ in 0..<20 { sink.deliver([(subscription, .event(event))]) }
        let hasRoom = backlog.add(LiveBacklog.bytesMax / 2)
        #expect(hasRoom)
        withExtendedLifetime((texts, sink)) {}
    }
}
