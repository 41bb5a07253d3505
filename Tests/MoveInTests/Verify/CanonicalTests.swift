import ParseProtocol
import Testing

@testable import MoveIn

/// The canonical form of objects, and the comparison of two.
@Suite struct CanonicalTests {
    private func canonical(_ fields: [String: JSON], _ className: String = "Item") -> JSON {
        .object(Canonical.fields(fields, of: className))
    }

    @Test func equalValuesHaveOneForm() {
        let there: [String: JSON] = [
            "objectId": "a1", "createdAt": "2020-01-02T03:04:05.600Z", "price": .double(3), "none": .null,
            "soldAt": ["__type": "Date", "iso": "2020-01-02T03:04:05Z"],
            "picture": ["__type": "File", "name": "a.png", "url": "https://old.example/a.png"],
            "brand": ["__type": "Object", "className": "Brand", "objectId": "b1", "title": "Old"],
            "area": ["__type": "Polygon", "coordinates": [[0, 0], [0, .double(1)], [1, 1]]],
            "list": [["__type": "File", "name": "b.png", "url": "https://old.example/b.png"], .double(2)],
            "ACL": ["u1": ["read": true, "write": false], "*": [:]], "_tombstone": 1,
        ]
        let here: [String: JSON] = [
            "objectId": "a1", "createdAt": "2020-01-02T03:04:05.600Z", "price": 3,
            "soldAt": ["__type": "Date", "iso": "2020-01-02T03:04:05.000Z"],
            "picture": ["__type": "File", "name": "a.png", "url": "https://shop.example/parse/files/a.png"],
            "brand": .pointer("Brand", "b1"), "fans": ["__type": "Relation", "className": "_User"],
            "area": ["__type": "Polygon", "coordinates": [[0, 0], [0, 1], [1, 1], [0, 0]]],
            "list": [["__type": "File", "name": "b.png"], 2], "ACL": ["u1": ["read": true]],
        ]
        #expect(canonical(there) == canonical(here))
        #expect(Canonical.checksum(Canonical.fields(there, of: "Item")) != Canonical.checksum(["a": 1]))
    }

    @Test func differentValuesHaveDifferentForms() {
        let pairs: [(JSON, JSON)] = [
            (1, "1"), (1, .double(1.5)), ("é", "e\u{301}"), ([1, 2], [2, 1]), (true, 1),
            (["__type": "File", "name": "a"], ["__type": "File", "name": "b"]),
            (["a": .null], [:]),
        ]
        for (one, other) in pairs { #expect(canonical(["x": one]) != canonical(["x": other]), "\(one)") }
    }

    @Test func noACLIsEveryones() {
        #expect(canonical([:]) == canonical(["ACL": ["*": ["read": true, "write": true]]]))
        #expect(canonical([:]) != canonical(["ACL": [:]]))
    }

    @Test func accountsCompareWithoutSecrets() {
        let there: [String: JSON] = [
            "username": "ann", "_hashed_password": "$2y$10$x", "sessionToken": "r:1",
            "authData": [
                "facebook": ["id": "7", "access_token": "t"], "anonymous": ["id": "x"], "spotify": ["id": "s"],
            ],
        ]
        let here: [String: JSON] = [
            "username": "ann", "isAdmin": false, "authData": ["facebook": ["id": "7"], "anonymous": [:]],
        ]
        #expect(canonical(there, "_User") == canonical(here, "_User"))
        let session: [String: JSON] = [
            "sessionToken": "r:1", "createdWith": ["action": "login", "more": 1], "ACL": ["u1": ["read": true]],
        ]
        #expect(canonical(session, "_Session") == canonical(["createdWith": ["action": "login"]], "_Session"))
        let device: [String: JSON] = [
            "installationId": "AB", "deviceToken": .string(String(repeating: "A", count: 64)),
        ]
        let token = JSON.string(String(repeating: "a", count: 64))
        #expect(
            canonical(device, "_Installation")
                == canonical(["installationId": "ab", "deviceToken": token], "_Installation"))
    }

    @Test func fieldsThatSatchelAddsDoNotDifferUnlessTheOldServerHadThem() {
        let order = MovedRow("Order", "o1", ["orderNo": 7, "total": 3])
        let served: [String: JSON] = [
            "objectId": "o1", "orderNo": 7, "total": 4, "orderState": "delivered", "ACL": ["u1": ["read": true]],
        ]
        let found = RowComparison.differences(order, served)
        #expect(found.map(\.field) == ["total"])
        #expect(found.first.map { [$0.old, $0.new] } == ["3", "4"])
        let stated = MovedRow("Order", "o1", ["orderNo": 7, "total": 4, "orderState": "shipped", "ACL": [:]])
        #expect(RowComparison.differences(stated, served).map(\.field) == ["ACL", "orderState"])
    }

    @Test func messagesShowNoSecretsAndNoLongValues() {
        #expect(RowComparison.shown("r:1", "sessionToken") == "(not shown)")
        #expect(RowComparison.shown(["facebook": ["id": "1"]], "authData") == "(not shown)")
        #expect(RowComparison.shown(nil, "sessionToken") == "nothing")
        #expect(RowComparison.shown(.string(String(repeating: "x", count: 500)), "text").count == 81)
    }

    @Test func permissionsCompareByWhatTheyGrant() {
        let there: JSON = [
            "find": ["*": true], "addField": [:], "readUserFields": [], "protectedFields": ["*": []],
            "ACL": ["*": ["read": true]],
        ]
        #expect(Canonical.permissions(there) == Canonical.permissions(["find": ["*": true], "update": ["*": false]]))
        #expect(Canonical.permissions(there) != Canonical.permissions(["find": ["role:staff": true]]))
        var wanted = MovedClass(name: "Item", fields: ["price": ["type": "Number"], "name": ["type": "String"]])
        wanted.classLevelPermissions = there
        let served: JSON = [
            "className": "Item", "fields": ["price": ["type": "String"], "name": ["type": "String"]],
            "classLevelPermissions": ["find": [:]],
        ]
        let sentences = VerifyRun.differences(of: wanted, in: [served])
        #expect(sentences.count == 2, "\(sentences)")
        #expect(sentences.first == "Item.price is Number there and String here.")
        #expect(VerifyRun.differences(of: wanted, in: []) == ["Item is missing."])
        #expect(VerifyRun.differences(of: MovedClass(name: "_Join:a:Item"), in: []).isEmpty)
    }
}
