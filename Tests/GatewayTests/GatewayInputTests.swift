import GatewayService
import ParseProtocol
import ProcessKit
import Testing

/// Values that SDKs write in several forms, and the meaning of each form.
@Suite struct GatewayInputTests {
    @Test(
        arguments: [
            (5, 5), ("5", 5), (5.0, 5), ("1e2", 100), ("5.5", nil), (5.5, nil), ("x", nil), ("", nil), (.null, nil),
            (true, nil), ("0", 0), ("-1", -1),
        ] as [(JSON, Int64?)])
    func aNumberMayBeAText(_ value: JSON, _ number: Int64?) { #expect(OptionValue.wholeNumber(value) == number) }

    @Test(
        arguments: [
            (true, true), (false, false), (1, true), (0, false), ("1", true), ("", false), (.null, false), ([:], true),
        ] as [(JSON, Bool)])
    func aFlagIsWhatJavaScriptTakesForTrue(_ value: JSON, _ isSet: Bool) { #expect(OptionValue.isSet(value) == isSet) }

    @Test func aConditionMayBeATextAndAQuotedOne() throws {
        let text = Array(#"{"a":1}"#.utf8)
        for value: JSON in [["a": 1], #"{"a":1}"#, #""{\"a\":1}""#] {
            #expect(try OptionValue.condition(value) == text)
        }
        for value: JSON in [.null, "", "null"] { #expect(try OptionValue.condition(value) == nil) }
        #expect(throws: ParseError.self) { try OptionValue.condition([1]) }
    }

    /// Id T2s of docs/internals/hardening.md: no service has to decode a condition that it would refuse.
    @Test func patternsAreCountedBeforeAConditionIsSentOn() throws {
        func condition(_ count: Int, of pattern: JSON) -> JSON {
            ["$or": .array((0..<count).map { _ in ["name": ["$regex": pattern]] })]
        }
        for value in [condition(40, of: "a"), condition(8, of: .string(String(repeating: "a", count: 1000)))] {
            #expect(try OptionValue.condition(value) != nil)
            #expect(try OptionValue.condition(.string(value.serializedText)) != nil)
        }
        let tooLong = condition(9, of: .string(String(repeating: "a", count: 1000)))
        for value in [condition(41, of: "a"), condition(41, of: ""), tooLong] {
            #expect(throws: ParseError.self) { try OptionValue.condition(value) }
            #expect(throws: ParseError.self) { try OptionValue.condition(.string(value.serializedText)) }
        }
        let inner: JSON = ["className": "Brand", "where": condition(30, of: "a")]
        let outer: JSON = ["$and": [condition(30, of: "a"), ["brand": ["$inQuery": inner]]]]
        #expect(try OptionValue.condition(outer) != nil, "A sub-query is a query of its own.")
        #expect(try OptionValue.condition(["$regex": .int(1), "text": .string(#"{"$regex":"a"}"#)]) != nil)
    }

    @Test func aRepetitionIsTheSameRequestUnderTheSameId() {
        func key(_ id: String, _ method: String, _ path: String, _ query: String, _ body: String) -> String {
            DeduplicationKeys(masterKey: "master").key(
                id: id, method: method, path: path, query: query, body: Array(body.utf8))
        }
        let first = key("launch", "POST", "classes/A", "", "{}")
        #expect(first.hasPrefix("launch "))
        #expect(first == key("launch", "POST", "classes/A", "", "{}"))
        let others = [
            key("other", "POST", "classes/A", "", "{}"), key("launch", "PUT", "classes/A", "", "{}"),
            key("launch", "POST", "classes/B", "", "{}"), key("launch", "POST", "classes/A", "a=1", "{}"),
            key("launch", "POST", "classes/A", "", "{ }"),
        ]
        #expect(Set(others + [first]).count == 6)
    }

    private static let schema: JSON = [
        "fields": [
            "likes": ["type": "Relation", "targetClass": "_User"], "one": ["type": "Pointer", "targetClass": "_User"],
            "hidden": ["type": "Relation", "targetClass": "_User"],
            "jobs": ["type": "Relation", "targetClass": "_JobStatus"],
        ],
        "classLevelPermissions": ["protectedFields": ["role:x": ["hidden"]]],
    ]

    @Test(arguments: [
        ("likes", "_User"), ("one", "Fan"), ("hidden", "Fan"), ("jobs", "Fan"), ("missing", "Fan"),
    ])
    func aRedirectionLeadsAlongARelation(_ key: String, _ target: String) {
        #expect(Redirection.target(of: key, "Fan", Self.schema, isMaster: false) == target)
    }

    @Test func theMasterKeyFollowsAHiddenRelation() {
        #expect(Redirection.target(of: "hidden", "Fan", Self.schema, isMaster: true) == "_User")
        #expect(Redirection.target(of: "jobs", "Fan", Self.schema, isMaster: true) == "Fan")
    }

    // MARK: Files

    @Test(arguments: [
        nil, "", "application/octet-stream", "binary/octet-stream", "application/x-www-form-urlencoded",
        "application/x-www-form-urlencoded; charset=utf-8", "unknown/unknown",
    ])
    func aTypeThatSaysNothingIsThatOfTheExtension(_ type: String?) throws {
        let photo = try FileTypes.standard.accept(name: "a.jpg", contentType: type)
        #expect(photo.name == "a.jpg")
        #expect(photo.contentType == "image/jpeg")
        #expect(try FileTypes.standard.accept(name: "hello . jpg", contentType: type).name == "hello . jpg")
        let nameless = try FileTypes.standard.accept(name: "file", contentType: type)
        #expect(nameless.name == "file.bin")
        #expect(nameless.contentType == "application/octet-stream")
    }

    @Test func anOperatorAddsTypesButNothingThatRuns() throws {
        let types = try FileTypes(adding: "dwg=image/vnd.dwg, jpg=image/x-own")
        #expect(try types.accept(name: "plan.dwg", contentType: nil).contentType == "image/vnd.dwg")
        #expect(try types.accept(name: "a.jpg", contentType: "image/x-own").contentType == "image/jpeg")
        #expect(throws: ParseError.self) { try FileTypes.standard.accept(name: "plan.dwg", contentType: nil) }
        for bad in [
            "dwg", "=a/b", "a=b", "a.b=c/d", "svg=image/svg+xml", "x=text/html", "js=text/javascript", "a=b/c=d",
            "x=application/xml",
        ] {
            #expect(throws: StartupProblem.self, "\(bad)") { try FileTypes(adding: bad) }
        }
    }

    // MARK: Webhooks

    @Test func removedFieldsReachClientsThatSupportThem() {
        let fields = HookedObject.Changed(replaced: ["gone": ["__op": "Delete"], "set": 2])
        let stored: JSON = ["set": 2]
        #expect(
            HookedObject.response(["objectId": "x"], with: fields, stored: stored, supportsRemovals: true)
                == ["objectId": "x", "set": 2, "gone": ["__op": "Delete"]])
        #expect(
            HookedObject.response(["objectId": "x"], with: fields, stored: stored, supportsRemovals: false)
                == ["objectId": "x", "set": 2])
        // A field that the webhook removed and the class filled with its default.
        for tells in [true, false] {
            #expect(
                HookedObject.response(
                    ["objectId": "x"], with: fields, stored: ["set": 2, "gone": 7], supportsRemovals: tells)
                    == ["objectId": "x", "set": 2, "gone": 7])
        }
        #expect(ClientSDK(version: "js5.3.0").interpretsRemovals)
        #expect(ClientSDK(version: nil).interpretsRemovals)
        #expect(!ClientSDK(version: "i1.8.5").interpretsRemovals)
        #expect(!ClientSDK(version: "a1.10.3").interpretsRemovals)
    }
}
