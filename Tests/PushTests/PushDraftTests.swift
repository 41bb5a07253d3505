import ParseProtocol
import PushService
import Testing

/// The requests that `POST /push` accepts, and the codes of refusals (PARSE_PROTOCOL section 9). No I/O.
@Suite struct PushDraftTests {
    /// 2026-01-01T00:00:00.000Z.
    static let now = Timestamp(milliseconds: 1_767_225_600_000)

    static func code(_ body: JSON) -> Int? {
        do {
            _ = try PushDraft(body, now: now)
            return nil
        } catch {
            return error.code.rawValue
        }
    }

    /// A push to all devices with these members.
    static func push(_ members: JSON) -> JSON {
        var body: JSON = ["where": [:], "data": ["alert": "hi"]]
        for (name, value) in members.objectValue ?? [:] { body[name] = value.isNull ? nil : value }
        return body
    }

    @Test(
        arguments: [
            ("neither channels nor where", ["where": .null], 115),
            ("both", ["channels": ["a"]], 115),
            ("where is a list", ["where": []], 115),
            ("where is text that is no object", ["where": "everybody"], 115),
            ("channels is a number", ["where": .null, "channels": 3], 115),
            ("a channel with a space", ["where": .null, "channels": ["no such"]], 112),
            ("a channel that is an operator", ["where": .null, "channels": [["$ne": "a"]]], 112),
            ("no data", ["data": .null], 115),
            ("data is text", ["data": "hi"], 115),
            ("an alert that is a number", ["data": ["alert": 7]], 115),
            ("a badge that is text", ["data": ["badge": "many"]], 115),
            ("a badge below 0", ["data": ["badge": -1]], 115),
            ("a badge with a fraction", ["data": ["badge": 1.5]], 115),
            ("a badge without end", ["data": ["badge": 1e300]], 115),
            ("too much data", ["data": ["alert": .string(String(repeating: "x", count: 4097))]], 116),
            ("no time", ["push_time": "tomorrow"], 115),
            ("a time that is an object", ["push_time": ["$gt": 1]], 115),
            ("30 February", ["push_time": "2026-02-30T00:00:00Z"], 115),
            ("a time in milliseconds", ["push_time": 1_767_225_600_000], 115),
            ("too far ahead", ["push_time": "2030-01-01T00:00:00Z"], 152),
            ("no expiration", ["expiration_time": "never"], 115),
            ("two expirations", ["expiration_time": "2026-02-01T00:00:00Z", "expiration_interval": 60], 115),
            ("an expiration in the past", ["expiration_time": "2025-12-31T23:58:59Z"], 138),
            (
                "an expiration before the push",
                ["push_time": "2026-03-01T00:00:00Z", "expiration_time": "2026-02-01T00:00:00Z"], 138
            ),
            ("an interval of nothing", ["expiration_interval": 0], 115),
            ("an interval that is text", ["expiration_interval": "1h"], 115),
            ("an interval without end", ["expiration_interval": 1e18], 115),
            ("an audience that is an object", ["where": .null, "audience_id": ["$ne": ""]], 115),
        ] as [(String, JSON, Int)])
    func isRefused(_ name: String, members: JSON, code: Int) {
        #expect(Self.code(Self.push(members)) == code, "\(name)")
    }

    @Test func aBodyThatIsNoObjectIsRefused() {
        #expect(Self.code([]) == 107)
        #expect(Self.code("push") == 107)
    }

    @Test func targetsAreConditions() throws {
        func target(_ members: JSON) throws -> PushDraft.Target {
            try PushDraft(Self.push(members), now: Self.now).target
        }
        #expect(try target([:]) == .condition([:]))
        #expect(try target(["where": ["deviceType": "ios"]]) == .condition(["deviceType": "ios"]))
        #expect(try target(["where": #"{"badge":{"$gt":1}}"#]) == .condition(["badge": ["$gt": 1]]))
        #expect(try target(["where": .null, "channels": ["a", ""]]) == .condition(["channels": ["$in": ["a", ""]]]))
        #expect(try target(["where": .null, "channels": "a"]) == .condition(["channels": ["$in": ["a"]]]))
        #expect(try target(["where": .null, "audience_id": "aud1"]) == .audience("aud1"))
        #expect(try target(["where": .null, "channels": []]) == .condition(["channels": ["$in": []]]))
    }

    /// A client's "now" is in the past when it arrives.
    @Test func anExpirationOfAMomentAgoIsTaken() throws {
        let draft = try PushDraft(Self.push(["expiration_time": "2025-12-31T23:59:30Z"]), now: Self.now)
        #expect(draft.expiry == .at(Self.now.advanced(by: .seconds(-30))))
    }

    @Test(
        arguments: [
            ("2026-01-02T03:04:05.678Z", 1_767_323_045_678), ("2026-01-02T03:04:05Z", 1_767_323_045_000),
            ("2026-01-02T05:04:05+02:00", 1_767_323_045_000), ("2026-01-01T22:04:05.5-0500", 1_767_323_045_500),
            (["__type": "Date", "iso": "2026-01-02T03:04:05.678Z"], 1_767_323_045_678),
            (["__type": "Date", "iso": "2026-01-02"], 1_767_312_000_000),
            (1_767_323_045, 1_767_323_045_000),
            (1_767_323_045.25, 1_767_323_045_250),
        ] as [(JSON, Int64)])
    func momentsAreRead(_ value: JSON, milliseconds: Int64) {
        #expect(PushMoment(value) == .absolute(Timestamp(milliseconds: milliseconds)))
    }

    @Test(arguments: [
        "", "2026", "2026-01-02T", "2026-01-02T03:04:05+99:00", "2026-01-02T03:04:05+2:3:4:5", "-", "+", "Z-",
    ])
    func whatIsNoMomentIsNotRead(_ text: String) {
        #expect(PushMoment(.string(text)) == nil)
    }

    /// Without a time zone it is each device's local time, including summer time.
    @Test func localTimeIsEachDevicesOwn() throws {
        let winter = try #require(PushMoment("2026-01-15T10:00:00.000"))
        let ten = try #require(Timestamp(iso: "2026-01-15T10:00:00.000Z"))
        #expect(winter.earliest == ten.advanced(by: .seconds(-14 * 3600)))
        #expect(winter.time(inZone: "America/New_York").at == ten.advanced(by: .seconds(5 * 3600)))
        #expect(winter.time(inZone: "America/New_York").offsetMinutes == -300)
        #expect(winter.time(inZone: "Asia/Kolkata").at == ten.advanced(by: .seconds(-19_800)))
        for unknown in [nil, "", "Mars/Olympus", String(repeating: "x", count: 5000)] as [String?] {
            #expect(winter.time(inZone: unknown).at == ten)
        }
        let summer = try #require(PushMoment("2026-07-15T10:00:00"))
        #expect(summer.time(inZone: "America/New_York").offsetMinutes == -240)
        #expect(summer.time(inZone: "Europe/Berlin").at == Timestamp(iso: "2026-07-15T08:00:00.000Z"))
        // The clocks were set forward at 02:00 on 29 March.
        #expect(
            PushMoment("2026-03-29T03:30:00")?.time(inZone: "Europe/Berlin").at
                == Timestamp(iso: "2026-03-29T01:30:00Z"))
    }

    @Test func badgesAreNumbersOrSteps() throws {
        func badge(_ value: JSON) throws -> PushPayload.Badge? { try PushPayload(["badge": value]).badge }
        #expect(try badge(3) == .set(3))
        #expect(try badge(0) == .set(0))
        #expect(try badge("Increment") == .increment(1))
        #expect(try badge("increment") == .increment(1))
        #expect(try badge(["__op": "Increment", "amount": 2]) == .increment(2))
        #expect(try badge(["increment": 5]) == .increment(5))
        #expect(try badge(.null) == nil)
    }

    @Test(
        arguments: [
            (["alert": "hi"], #"{"aps":{"alert":"hi"}}"#),
            (["alert": "hi", "title": "T"], #"{"aps":{"alert":{"body":"hi","title":"T"}}}"#),
            (["alert": ["loc-key": "K"], "title": "T"], #"{"aps":{"alert":{"loc-key":"K","title":"T"}}}"#),
            (
                ["alert": "hi", "badge": "Increment", "sound": "s", "category": "c", "p": "x1"],
                #"{"aps":{"alert":"hi","badge":7,"category":"c","sound":"s"},"p":"x1"}"#
            ),
            (["content-available": 1, "id": 3], #"{"aps":{"content-available":1},"id":3}"#),
            // A client cannot set the members that `aps` has in APNs.
            (["alert": "hi", "aps": ["alert": "other"], "collapse_id": "c"], #"{"aps":{"alert":"hi"}}"#),
        ] as [(JSON, String)])
    func payloadsAreApples(_ data: JSON, expected: String) throws {
        let payload = try PushPayload(data)
        let body = try JSON(parsing: payload.apns(badge: payload.badge == nil ? nil : 7))
        #expect(body == (try JSON(parsing: expected)))
    }

    @Test func theHashIsTheAlertsMD5() throws {
        #expect(try PushPayload(["alert": "hello"]).hash == "5d41402abc4b2a76b9719d911017c592")
        #expect(try PushPayload(["sound": "s"]).hash == "d41d8cd98f00b204e9800998ecf8427e")
    }

    @Test func onlyWhatNobodySeesIsBackground() throws {
        #expect(try PushPayload(["content-available": 1]).isBackground)
        #expect(try !PushPayload(["content-available": 1, "alert": "hi"]).isBackground)
        #expect(try !PushPayload(["content-available": 1, "badge": 2]).isBackground)
    }
}
