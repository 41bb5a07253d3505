import ParseProtocol
import ServiceKit
import Testing

/// Which changes of Satchel's own classes a developer may make: none that gives rights in another area.
@Suite struct SchemaRightsTests {
    private static let stored: JSON = [
        "fields": ["unitPrice": ["type": "Number"], "note": ["type": "String", "required": true]],
        "indexes": ["byName": ["name": 1], "onlyOne": ["name": 1, "_unique": true]],
        "classLevelPermissions": ["update": ["role:admins": true]],
    ]

    private static func isAllowed(_ wish: JSON) -> Bool {
        (try? SchemaRights.check(developersWish: wish, ofBuiltIn: "Product", stored: stored)) != nil
    }

    @Test(
        arguments: [
            [:], ["fields": ["extra": ["type": "String"]]],
            ["fields": ["owner": ["type": "Pointer", "targetClass": "_User"]]],
            ["fields": ["unitPrice": ["type": "Number"], "note": ["type": "String", "required": true]]],
            ["indexes": ["byPrice": ["unitPrice": 1]]], ["indexes": ["byName": ["__op": "Delete"]]],
            ["indexes": ["onlyOne": ["name": 1, "_unique": true]]],
        ] as [JSON])
    func plainFieldsAndIndexesAreAllowed(_ wish: JSON) { #expect(Self.isAllowed(wish)) }

    @Test(
        arguments: [
            ["classLevelPermissions": ["update": ["role:developers": true]]], ["classLevelPermissions": .null],
            ["fields": ["unitPrice": ["type": "Number", "defaultValue": 0]]],
            ["fields": ["extra": ["type": "Number", "defaultValue": 0]]],
            ["fields": ["extra": ["type": "String", "required": true]]],
            ["fields": ["unitPrice": ["__op": "Delete"]]], ["fields": ["extra": ["__op": "Delete"]]],
            ["fields": ["note": ["type": "String"]]],
            ["indexes": ["perCustomer": ["customer": 1, "_unique": true]]],
            ["indexes": ["onlyOne": ["__op": "Delete"]]],
        ] as [JSON])
    func whatGivesARightIsRefused(_ wish: JSON) { #expect(!Self.isAllowed(wish)) }
}
