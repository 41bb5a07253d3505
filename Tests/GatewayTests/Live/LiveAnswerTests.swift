import GatewayService
import ParseProtocol
import Testing

/// The effect of cloud code's answers on a subscription's query and on an event.
@Suite struct LiveAnswerTests {
    private static let stored: JSON = [
        "__type": "Object", "className": "Note", "objectId": "n1", "text": "a", "own": "mine",
        "ACL": ["u1": ["read": true]],
    ]

    private static func event(hidden: [String] = [], original: JSON? = nil) -> LiveDelivery {
        LiveDelivery(
            kind: .update, cursor: LiveCursor(feed: 1, position: 1), object: stored.serialized,
            original: original?.serialized, hidden: hidden)
    }

    private static func object(_ answer: JSON, keys: [String] = [], hidden: [String] = []) throws -> JSON? {
        try event(hidden: hidden).changed(by: ["object": answer, "sendEvent": true], keys: keys)
            .map { try JSON(parsing: $0.object) }
    }

    // MARK: Events

    @Test func whatTheCodeSetsAndTakesAwayIsTold() throws {
        let told = try Self.object(["objectId": "n1", "text": "b", "more": 1])
        var expected = Self.stored
        expected["text"] = "b"
        expected["more"] = 1
        expected["own"] = nil
        #expect(told == expected)
    }

    /// The object's identity and its read access remain unchanged.
    @Test func theCodeDoesNotChangeWhichObjectItIs() throws {
        let told = try Self.object([
            "__type": "Pointer", "className": "Other", "objectId": "n2", "ACL": ["*": ["read": true]], "text": "a",
        ])
        var expected = Self.stored
        expected["own"] = nil
        #expect(told == expected)
    }

    @Test func whatIsHiddenFromTheClientOrNotChosenIsNotAdded() throws {
        let told = try Self.object(["text": "b", "secret": 1, "own": "still"], hidden: ["secret", "own"])
        #expect(told?["secret"] == nil)
        #expect(told?["own"] == "still", "It was shown before: to this client it is not hidden.")
        let chosen = try Self.object(["text": "b", "more": 1, "in": ["a": 1, "b": 2]], keys: ["text", "in.a"])
        #expect(chosen?["text"] == "b")
        #expect(chosen?["more"] == nil)
        #expect(chosen?["in"] == ["a": 1])
    }

    @Test func anEventIsWithheldOrAsItWas() throws {
        #expect(Self.event().changed(by: ["sendEvent": false], keys: []) == nil)
        // Code that no longer has the trigger, and a request whose object was removed.
        for answer in [[:], .null, ["sendEvent": true]] as [JSON] {
            #expect(Self.event().changed(by: answer, keys: [])?.object == Self.stored.serialized)
        }
        let event = Self.event(original: Self.stored)
        let told = event.changed(by: ["object": Self.stored, "sendEvent": true], keys: [])
        #expect(told != nil && told?.original == nil, "The code took it away.")
        let both = event.changed(by: ["original": ["text": "old"], "sendEvent": true], keys: [])
        let original = try #require(both?.original)
        #expect(try JSON(parsing: original)["text"] == "old")
        let none = Self.event().changed(by: ["original": ["text": "old"], "sendEvent": true], keys: [])
        #expect(none?.original == nil, "What the client could not read before stays away.")
    }

    // MARK: Queries

    private static let wish = SubscribedQuery(
        className: "Note", condition: Array(#"{"a":1}"#.utf8), keys: ["a"], watch: ["a"])

    @Test func theCodesQueryTakesThePlaceOfTheClients() throws {
        let changed = try Self.wish.changed(by: [
            "className": "Other", "where": ["b": 2], "keys": "b,c", "watch": "b", "limit": 5, "order": "-b",
        ])
        #expect(
            changed
                == SubscribedQuery(
                    className: "Note", condition: Array(#"{"b":2}"#.utf8), keys: ["b", "c"], watch: ["b"]))
        let all = try Self.wish.changed(by: [:])
        #expect(all == SubscribedQuery(className: "Note", condition: Array("{}".utf8), keys: [], watch: []))
        #expect(try Self.wish.changed(by: ["keys": ""]).keys == ["objectId"], "A choice of nothing is not all.")
    }

    @Test func whatCannotBeLiveIsRefused() {
        let patterns = (0...PatternBudget.countMax).map { JSON.object(["a": ["$regex": .string("\($0)")]]) }
        for query in [["excludeKeys": "a"], ["where": 1], ["keys": 1], ["where": ["$or": .array(patterns)]]] as [JSON] {
            #expect(throws: ParseError.self, "\(query.serializedText.prefix(80))") { try Self.wish.changed(by: query) }
        }
    }
}
