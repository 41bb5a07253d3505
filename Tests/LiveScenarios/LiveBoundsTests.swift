import Foundation
import ParseProtocol
import TestSupport
import Testing

/// No client can harm others: each limit takes effect, and the suite continues.
@Suite struct LiveBoundsTests {
    /// Low limits, frequent pings, and publicly readable users.
    private static let narrow = Task {
        try await Suite.start(settings: [
            "SATCHEL_LIVE_CLASSES": "*,_User", "SATCHEL_LIVE_PING_SECONDS": "1",
            "SATCHEL_LIVE_MESSAGE_BYTES_MAX": "4096", "SATCHEL_LIVE_SUBSCRIPTIONS_PER_CONNECTION": "5",
            "SATCHEL_LIVE_QUEUE_BYTES_MAX": "65536", "SATCHEL_ALLOW_ORIGINS": "https://shop.example",
            "SATCHEL_QUOTAS": "classes=off;fields=off",
        ])
    }

    @Test(
        arguments: [
            ("not masked", LiveConnection.frame(Array("{}".utf8), isMasked: false), 1002),
            ("too long", LiveConnection.frame([], claiming: 5000), 1009),
            ("of another age", LiveConnection.frame([], claiming: 1 << 40), 1009),
            ("binary", LiveConnection.frame([1, 2, 3], opcode: 2), 1003),
            ("not UTF-8", LiveConnection.frame([0x7B, 0xFF, 0x7D]), 1007),
            ("a middle without a beginning", LiveConnection.frame([1], opcode: 0), 1002),
            ("a long ping", LiveConnection.frame([UInt8](repeating: 0, count: 200), opcode: 9), 1002),
            (
                "in too many pieces",
                LiveConnection.frame([123], isFinal: false)
                    + (0..<100).flatMap { _ in LiveConnection.frame([32], opcode: 0, isFinal: false) }, 1002
            ),
            (
                "too long in pieces",
                LiveConnection.frame([UInt8](repeating: 32, count: 4000), isFinal: false)
                    + LiveConnection.frame([UInt8](repeating: 32, count: 4000), opcode: 0), 1009
            ),
        ] as [(String, [UInt8], Int)])
    func aBadFrameEndsItsConnectionAlone(_ what: String, _ bytes: [UInt8], _ code: Int) async throws {
        let suite = try await Self.narrow.value
        let other = try await LiveConnection.connect(suite)
        let live = try await LiveConnection.connect(suite)
        try await live.send(raw: bytes)
        try await live.untilClosed()
        #expect(live.closeCode == code, "\(what)")
        #expect(try await other.subscribe(1, "Note")["op"] == "subscribed")
    }

    @Test(
        arguments: [
            ("/parse", [], 101), ("/parse/", [], 101), ("/1", [], 101), ("/", [], 101), ("/parse/classes", [], 404),
            ("/LiveQuery", [], 404), ("/parse", ["Origin: https://evil.example"], 403),
            ("/parse", ["Origin: https://shop.example"], 101), ("/parse", ["Sec-WebSocket-Version: 8"], 426),
        ] as [(String, [String], Int)])
    func anUpgradeIsAnsweredAtTheMountToWhomItMayConcern(
        _ path: String, _ headers: [String], _ status: Int
    ) async throws {
        let suite = try await Self.narrow.value
        let live = try await LiveConnection(suite, path: path, headers: headers)
        #expect(live.status == status)
    }

    @Test func aClientWithoutPongsIsClosed() async throws {
        let suite = try await Self.narrow.value
        let mute = try await LiveConnection.connect(suite, isMute: true)
        let alive = try await LiveConnection.connect(suite)
        try await mute.untilClosed()
        #expect(!alive.isClosed)
        #expect(try await alive.subscribe(1, "Note")["op"] == "subscribed")
    }

    /// Answers to pings do not pile up for a client that does not read them.
    @Test(.timeLimit(.minutes(10))) func pingsWithoutEndFillNoMemory() async throws {
        let suite = try await Self.narrow.value
        let live = try await LiveConnection.connect(suite)
        try await live.send(raw: LiveConnection.frame([1], opcode: 9))
        try await eventually("a ping is answered", within: .seconds(10)) { live.pongs == 1 }
        try await live.setReading(false)
        let ping = LiveConnection.frame([UInt8](repeating: 0, count: 125), opcode: 9)
        let thousand = Array(repeatElement(ping, count: 1000).joined())
        let count = 300_000
        for _ in 0..<count / 1000 { try await live.send(raw: thousand) }
        try await live.setReading(true)
        #expect(try await live.subscribe(1, "Note")["op"] == "subscribed")
        #expect(live.pongs < count / 2, "More than two sockets hold is answered to nobody.")
    }

    @Test func aConnectionHasSoManySubscriptions() async throws {
        let suite = try await Self.narrow.value
        let live = try await LiveConnection.connect(suite)
        for id in 1...5 { #expect(try await live.subscribe(Int64(id), "Note")["op"] == "subscribed") }
        #expect(try await live.subscribe(6, "Note")["code"] == 155)
        // #10499: a subscription with a used requestId replaces the first one.
        #expect(try await live.subscribe(5, "Note", ["n": 1])["op"] == "subscribed")
        _ = try await ParseClient(suite).create("Note", ["n": 2])
        var heard: Set<Int64> = []
        for _ in 0..<4 { heard.insert(try await live.next { $0["object"] != nil }["requestId"]?.intValue ?? 0) }
        #expect(heard == [1, 2, 3, 4])
        #expect(live.waiting.isEmpty)
    }

    /// CVE-2026-30925 and CVE-2026-32770: slow patterns and invalid patterns.
    @Test func advisory2026_30925_aQueryThatTakesLongIsEnded() async throws {
        // The test has its own suite, because its cost counts against all guests at this address.
        let suite = try await Suite.start(settings: ["SATCHEL_QUOTAS": "classes=off;fields=off"])
        let name = "Live\(Names.random(8))"
        let live = try await LiveConnection.connect(suite)
        #expect(try await live.subscribe(1, name, ["text": ["$regex": "(a+)+$("]])["code"] == 102)
        let patterns = (0..<30).map { JSON.object(["text": ["$regex": .string("^([a-z]{1,9})+(?#\($0))[^a-z]")]]) }
        #expect(try await live.subscribe(2, name, ["$or": .array(patterns)])["op"] == "subscribed")
        let token = try #require(try await Customer.signUp(suite).client.sessionToken)
        let other = try await LiveConnection.connect(suite, ["sessionToken": .string(token)])
        try await other.subscribe(1, name)
        let client = ParseClient(suite)
        let text = JSON.string(String(repeating: "a", count: 5000))
        for _ in 0..<20 { _ = try await client.create(name, ["text": text]) }
        let end = try await live.next { $0["op"] == "error" && $0["requestId"] == 2 }
        #expect(end["code"] == 154, "\(end.serializedText)")
        for _ in 0..<20 { #expect(try await other.nextEvent(of: 1)["op"] == "create") }
    }

    /// CVE-2026-33508: the depth limit is the same as for a find.
    @Test func advisory2026_33508_theDepthOfAQueryIsBounded() async throws {
        let suite = try await Self.narrow.value
        var condition: JSON = ["n": 1]
        for _ in 0..<20 { condition = ["$or": [condition]] }
        let live = try await LiveConnection.connect(suite)
        #expect(try await live.subscribe(1, "Note", condition)["code"] == 102)
    }

    @Test(.timeLimit(.minutes(10))) func aClientThatReadsNothingMustReconnect() async throws {
        let suite = try await Self.narrow.value
        let name = "Live\(Names.random(8))"
        // The operator's connections have no budget. Matching so many large objects exceeds a guest's budget.
        let slow = try await LiveConnection.connect(suite, ["masterKey": .string(Suite.masterKey)])
        let other = try await LiveConnection.connect(suite, ["masterKey": .string(Suite.masterKey)])
        for live in [slow, other] { try await live.subscribe(1, name) }
        try await slow.setReading(false)
        let client = ParseClient(suite)
        let text = JSON.string(String(repeating: "x", count: 100_000))
        for n in 0..<120 { _ = try await client.create(name, ["n": .int(Int64(n)), "text": text]) }
        for n in 0..<120 { #expect(try await other.nextEvent(of: 1).at("object", "n") == .int(Int64(n))) }
        try await slow.setReading(true)
        try await slow.untilClosed()
        #expect(slow.waiting.count < 120)
    }

    /// The backlog is limited in bytes, not in events.
    @Test(.timeLimit(.minutes(10))) func anUnreadStreamEnds() async throws {
        let suite = try await Self.narrow.value
        let name = "Live\(Names.random(8))"
        let stream = try RawConnection(suite)
        stream.send(
            head: """
                GET /parse/live/\(name) HTTP/1.1
                Host: x
                X-Parse-Application-Id: satchel
                Accept: text/event-stream
                """)
        var heard = ""
        try await eventually("the stream begins", within: .seconds(10)) {
            heard += stream.read(within: 100) ?? ""
            return heard.contains("event: subscribed")
        }
        let client = ParseClient(suite)
        let text = JSON.string(String(repeating: "x", count: 100_000))
        for n in 0..<120 { _ = try await client.create(name, ["n": .int(Int64(n)), "text": text]) }
        try await eventually("the stream ends", within: .seconds(20)) {
            heard += stream.read(within: 100, max: 1 << 20) ?? ""
            return heard.utf8.suffix(5).elementsEqual("0\r\n\r\n".utf8)
        }
        #expect(heard.components(separatedBy: "event: create").count - 1 < 120)
    }

    /// CVE-2021-41109.
    @Test func advisory2021_41109_eventsOfUsersHoldNoSecrets() async throws {
        let suite = try await Self.narrow.value
        let live = try await LiveConnection.connect(suite)
        let all = try await LiveConnection.connect(suite, ["masterKey": .string(Suite.masterKey)])
        for connection in [live, all] { #expect(try await connection.subscribe(1, "_User")["op"] == "subscribed") }
        let customer = try await Customer.signUp(suite)
        let token = try #require(customer.client.sessionToken)
        let told = try await all.nextEvent(of: 1)
        #expect(told.at("object", "objectId") == .string(customer.userId))
        for text in [told] + live.waiting {
            #expect(!text.serializedText.contains(token))
            #expect(!text.serializedText.contains("password"))
        }
        #expect(live.waiting.allSatisfy { $0.at("object", "email") == nil })
        #expect(try await live.subscribe(2, "_Session")["code"] == 119)
    }
}
