import GatewayService
import ParseProtocol
import ProcessKit
import Testing

/// How the shadow mode compares two answers, and its settings.
@Suite struct ShadowCountsTests {
    private static func find(
        _ here: [JSON], _ there: [JSON], isOrdered: Bool = false, skip: Int = 0, limit: Int = 100
    ) throws -> ShadowCounts {
        let question = ShadowQuestion("Lamp", isOrdered: isOrdered, skip: skip, limit: limit)
        return try #require(
            ShadowCounts(question, here: ["results": .array(here)], there: ["results": .array(there)]))
    }

    private static func get(_ here: JSON, _ there: JSON, of className: String = "Lamp") throws -> ShadowCounts {
        try #require(ShadowCounts(ShadowQuestion(className, "a"), here: here, there: there))
    }

    @Test func fieldsAreComparedByName() throws {
        let here: JSON = ["objectId": "a", "same": ["x": [1, 2.5]], "other": 1, "onlyHere": true]
        let there: JSON = ["objectId": "a", "same": ["x": [1, 2.5]], "other": "1", "onlyThere": .null]
        let counts = try Self.get(here, there)
        #expect(counts.fields["objectId"]?.equal == 1)
        #expect(counts.fields["same"]?.equal == 1)
        #expect(counts.fields["same"]?.objectIds == [])
        #expect(counts.fields["other"]?.different == 1)
        #expect(counts.fields["onlyHere"]?.missingThere == 1)
        #expect(counts.fields["onlyThere"]?.missingHere == 1)
        #expect(counts.fields["other"]?.objectIds == ["a"])
        #expect(counts.differences == 3)
        #expect(counts.excused.isEmpty)
    }

    @Test func atMostFiveObjectsAreNamed() throws {
        let ids = (1...9).map { "id\($0)" }
        let counts = try Self.find(
            ids.map { ["objectId": .string($0), "n": 1] }, ids.map { ["objectId": .string($0), "n": 2] })
        #expect(counts.fields["n"]?.different == 9)
        #expect(counts.fields["n"]?.objectIds == Array(ids.prefix(5)))
    }

    /// Field names and ids of the old server are not trusted.
    @Test func oddNamesAreCountedTogether() throws {
        let there: JSON = ["objectId": "a", "no name": 1, "": 2, String(repeating: "x", count: 200): 3]
        let counts = try Self.get(["objectId": "a"], there)
        #expect(Set(counts.fields.keys) == ["objectId", ShadowCounts.otherFields])
        #expect(counts.fields[ShadowCounts.otherFields]?.missingHere == 3)
        let odd = try Self.find([], [["objectId": "<b>"]], isOrdered: true)
        #expect(odd.fields["objectId"]?.missingHere == 1)
        #expect(odd.fields["objectId"]?.objectIds == [])
    }

    // MARK: - Rules

    @Test func aLaterWriteIsNoDifferenceOfItself() throws {
        let counts = try Self.get(
            ["objectId": "a", "updatedAt": "2026-01-01T00:00:00.000Z"],
            ["objectId": "a", "updatedAt": "2026-01-02T00:00:00.000Z"])
        #expect(counts.differences == 0)
        #expect(counts.excused == [.updatedAt: 1])
    }

    @Test func filesAreComparedByName() throws {
        func file(_ name: String, _ host: String) -> JSON {
            ["__type": "File", "name": .string(name), "url": .string("https://\(host)/\(name)")]
        }
        let counts = try Self.get(
            ["objectId": "a", "photo": file("x.png", "new"), "photos": [file("1.png", "new")], "icon": file("a", "h")],
            ["objectId": "a", "photo": file("x.png", "old"), "photos": [file("1.png", "old")], "icon": file("b", "h")])
        #expect(counts.fields["photo"]?.equal == 1)
        #expect(counts.fields["photos"]?.equal == 1)
        #expect(counts.fields["icon"]?.different == 1)
        #expect(counts.excused == [.fileURL: 2])
    }

    @Test func onlyAQueryWithAnOrderHasOne() throws {
        let objects: [JSON] = [["objectId": "a"], ["objectId": "b"]]
        let free = try Self.find(objects, objects.reversed())
        #expect(free.differences == 0)
        #expect(free.excused == [.order: 1])
        let ordered = try Self.find(objects, objects.reversed(), isOrdered: true)
        #expect(ordered.otherOrder == 1)
        #expect(ordered.excused.isEmpty)
    }

    @Test func aListWithoutOrderMayBeCutElsewhere() throws {
        let (one, other): ([JSON], [JSON]) = ([["objectId": "a"]], [["objectId": "b"]])
        #expect(try Self.find(one, other).differences == 2)
        #expect(try Self.find(one, other, isOrdered: true, limit: 1).differences == 2)
        let cut = try Self.find(one, other, limit: 1)
        #expect(cut.differences == 0)
        #expect(cut.excused == [.order: 2])
        #expect(try Self.find(one, other, skip: 5).differences == 0)
    }

    @Test func fieldsThatSatchelAddsAreExpected() throws {
        let counts = try Self.get(["objectId": "a", "ratingCount": 1, "size": 1], ["objectId": "a"], of: "Product")
        #expect(counts.excused == [.addedField: 1])
        #expect(counts.fields["ratingCount"] == nil)
        #expect(counts.fields["size"]?.missingThere == 1)
        let back = try Self.get(["objectId": "a"], ["objectId": "a", "ratingCount": 1], of: "Product")
        #expect(back.fields["ratingCount"]?.missingHere == 1)
    }

    @Test func rulesApplyToIncludedObjects() throws {
        func item(_ product: JSON) -> JSON { ["objectId": "a", "product": product] }
        let old: JSON = [
            "__type": "Object", "className": "Product", "objectId": "p", "updatedAt": "2026-01-01T00:00:00.000Z",
        ]
        var new = old
        new["updatedAt"] = "2026-02-01T00:00:00.000Z"
        new["ratingCount"] = 0
        let counts = try Self.get(item(new), item(old))
        #expect(counts.fields["product"]?.equal == 1)
        #expect(counts.excused == [.updatedAt: 1, .addedField: 1])
        new["name"] = "Lamp"
        #expect(try Self.get(item(new), item(old)).fields["product"]?.different == 1)
        // A plain object has no rules.
        #expect(try Self.get(item(["updatedAt": 1]), item(["updatedAt": 2])).fields["product"]?.different == 1)
    }

    // MARK: - Answers

    @Test func aMissingObjectIsADifference() throws {
        let counts = try Self.get(["objectId": "a", "name": "x"], .null)
        #expect(counts.fields["objectId"]?.missingThere == 1)
        #expect(counts.fields["name"] == nil)
        #expect(counts.differences == 1)
    }

    @Test func countsAreCompared() throws {
        let question = ShadowQuestion("Lamp", limit: 0)
        func counts(_ here: JSON, _ there: JSON) -> Int? {
            ShadowCounts(question, here: ["results": [], "count": here], there: ["results": [], "count": there])?
                .otherCount
        }
        #expect(counts(3, 3) == 0)
        #expect(counts(3, 4) == 1)
    }

    @Test(arguments: [.null, [], "x", ["results": 1], ["results": ["x"]], ["results": [["name": "x"]]]] as [JSON])
    func anotherTextIsNoAnswer(_ there: JSON) {
        #expect(ShadowCounts(ShadowQuestion("Lamp"), here: ["results": []], there: there) == nil)
    }

    // MARK: - Settings

    private static func settings(_ variables: [String: String]) throws(StartupProblem) -> ShadowSettings? {
        try ShadowSettings(Settings(variables), applicationId: "shop")
    }

    @Test func settingsHaveDefaults() throws {
        #expect(try Self.settings([:]) == nil)
        let settings = try #require(try Self.settings(["SATCHEL_SHADOW_URL": "https://old.example/parse/"]))
        #expect(settings.url == "https://old.example/parse")
        #expect(settings.share == 0.01)
        #expect(settings.applicationId == "shop")
        #expect(settings.sends == .nothing)
    }

    @Test(arguments: [
        ("SATCHEL_SHADOW_URL", "old.example"), ("SATCHEL_SHADOW_URL", "file:///etc/passwd"),
        ("SATCHEL_SHADOW_URL", "https://user:secret@old.example/parse"),
        ("SATCHEL_SHADOW_URL", "https://old.example/parse?a=b"), ("SATCHEL_SHADOW_SHARE", "1.5"),
        ("SATCHEL_SHADOW_SHARE", "nan"), ("SATCHEL_SHADOW_SHARE", "-0.1"), ("SATCHEL_SHADOW_SENDS", "masterKey"),
    ])
    func aWrongSettingIsNamed(_ name: String, _ value: String) throws {
        let problem = #expect(throws: StartupProblem.self) { _ = try Self.settings([name: value]) }
        #expect(problem?.description.hasPrefix(name) == true)
    }
}
