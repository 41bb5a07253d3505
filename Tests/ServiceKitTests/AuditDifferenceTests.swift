import Messages
import ParseProtocol
import ServiceKit
import Testing

/// What the audit log stores of a change: the difference, without secrets, with limited size.
@Suite struct AuditDifferenceTests {
    @Test func onlyWhatIsDifferentIsKept() {
        let difference = AuditDifference(
            ["name": "Soap", "unitPrice": 3, "tags": ["a"], "updatedAt": "1", "objectId": "x"],
            ["name": "Soap", "unitPrice": 4, "tags": ["a"], "updatedAt": "2", "objectId": "x", "stock": 7])
        #expect(difference.before == ["unitPrice": 3])
        #expect(difference.after == ["unitPrice": 4, "stock": 7])
    }

    @Test func whatBeganAndWhatEndedHasOneState() {
        let made = AuditDifference(nil, ["title": "Aqua"])
        #expect(made.before == nil)
        #expect(made.after == ["title": "Aqua"])
        let gone = AuditDifference(["title": "Aqua"], nil)
        #expect(gone.before == ["title": "Aqua"])
        #expect(gone.after == nil)
    }

    /// Each user added to a role is named, even together with many others.
    @Test func eachMemberThatIsAddedToARelationIsNamed() throws {
        let few: JSON = ["__op": "AddRelation", "objects": [.pointer("_User", "a")]]
        #expect(RelationNote.members(of: "users", few, isHidden: false) == ["users": few])
        #expect(RelationNote.members(of: "name", "Soap", isHidden: false).isEmpty)

        let ids = (0..<400).map { "user\($0)" }
        let many: JSON = ["__op": "AddRelation", "objects": .array(ids.map { .pointer("_User", $0) })]
        let gone: JSON = ["__op": "RemoveRelation", "objects": [.pointer("_User", "a")]]
        let both: JSON = ["__op": "Batch", "ops": [many, gone]]
        let members = RelationNote.members(of: "users", both, isHidden: false)
        let after = try #require(AuditDifference([:], .object(members)).after)
        let told = (after.objectValue ?? [:]).values.compactMap(\.stringValue).joined(separator: " ")
        #expect(Set(told.split(separator: " ").map(String.init)) == Set(ids + ["a"]))
        #expect(after["users RemoveRelation \(members.count)"] == "a")
        #expect(RelationNote.members(of: "users", many, isHidden: true) == ["users": many])
    }

    @Test(arguments: [("7f000001", "127.0.0.1"), ("20010db800000001", "2001:db8:0:1::/64"), ("there", "there")])
    func anAddressIsToldAsPeopleWriteIt(_ network: String, _ address: String) throws {
        let principal = Principal.with {
            $0.master = true
            $0.network = network
        }
        let origin = try #require(AuditOrigin(principal, "request"))
        #expect(origin.changes([AuditNote("push")], at: .now)?.address == address)
    }

    @Test func objectsWithinAreComparedMemberByMember() {
        let difference = AuditDifference(
            ["params": ["a": 1, "b": ["c": 1, "d": 2]], "brand": .pointer("Category", "a")],
            ["params": ["a": 1, "b": ["c": 1, "d": 3]], "brand": .pointer("Category", "b")])
        #expect(difference.before == ["params": ["b": ["d": 2]], "brand": .pointer("Category", "a")])
        #expect(difference.after == ["params": ["b": ["d": 3]], "brand": .pointer("Category", "b")])
    }

    @Test func secretsAreNamedAndNotTold() {
        let difference = AuditDifference(
            ["password": "old", "params": ["key": "one", "open": 1]],
            ["password": "new", "params": ["key": "two", "open": 2], "list": [["key": "three"]]], hiding: ["key"])
        #expect(difference.before == ["password": "(hidden)", "params": ["key": "(hidden)", "open": 1]])
        #expect(
            difference.after == [
                "password": "(hidden)", "params": ["key": "(hidden)", "open": 2], "list": [["key": "(hidden)"]],
            ])
    }

    @Test func longValuesAreCutAndLargeStatesAreNames() {
        let long = AuditDifference(nil, ["text": .string(String(repeating: "x", count: 100_000))])
        #expect(long.after?["text"]?.stringValue?.count == 501)
        let list = AuditDifference(nil, ["list": .array(Array(repeating: 1, count: 10_000))])
        #expect(list.after?["list"]?.stringValue?.hasSuffix(" bytes)") == true)
        let members = (0..<500).map { ("field\($0)", JSON.string(String(repeating: "y", count: 400))) }
        let wide = AuditDifference(nil, .object(Dictionary(uniqueKeysWithValues: members)))
        #expect((wide.after?.serialized.count ?? .max) < 16 << 10)
        #expect(wide.after?["(changed)"]?.arrayValue?.count == 100)
    }

    @Test func onlyOperatorsAndTheMasterKeyHaveAnOrigin() {
        func origin(_ change: (inout Principal) -> Void) -> AuditOrigin? {
            AuditOrigin(.with(change), "request")
        }
        #expect(origin { $0.userID = "u" } == nil)
        #expect(
            origin {
                $0.userID = "u"; $0.roles = ["staff"]
            } == nil)
        #expect(
            origin {
                $0.userID = "u"; $0.roles = ["support"]
            } != nil)
        #expect(
            origin {
                $0.userID = "u"; $0.roles = ["admins"]; $0.restricted = true
            } == nil)
        #expect(
            origin {
                $0.master = true; $0.network = "192.0.2.7"
            } != nil)
        // Satchel's own change.
        #expect(origin { $0.master = true } == nil)
    }
}
