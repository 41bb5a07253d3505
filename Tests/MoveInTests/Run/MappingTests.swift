import ParseProtocol
import Testing

@testable import MoveIn

@Suite struct MappingTests {
    private static let file: JSON = [
        "classes": ["Item": "OldItem", "Log": .null],
        "fields": ["Item.length": "size", "Item.junk": .null, "Item.tags": "marks"],
    ]
    private static let item = MovedClass(
        name: "Item",
        fields: [
            "length": ["type": "Number"], "junk": ["type": "String"],
            "tags": ["type": "Relation", "targetClass": "Item"], "next": ["type": "Pointer", "targetClass": "Item"],
            "log": ["type": "Pointer", "targetClass": "Log"],
        ],
        classLevelPermissions: [
            "find": ["*": true], "get": ["pointerFields": ["next", "junk"]], "readUserFields": ["length"],
            "protectedFields": ["*": ["length", "junk"], "userField:junk": [], "userField:next": ["length"]],
        ],
        indexes: ["a": ["_p_next": 1, "length": -1], "b": ["junk": 1], "c": ["_created_at": 1]])

    @Test func numbersAreRoundedAsTheyAreWritten() throws {
        let mapping = try Mapping(json: ["decimals": ["Item.length": 2], "fields": ["Item.length": "size"]])
        try mapping.check([Self.item])
        for (old, new) in [(19.995, 20.0), (0.005, 0.01), (-1.005, -1.01), (3.5, 3.5), (1e300, 1e300)] {
            let row = mapping.row(MovedRow("Item", "a1", ["length": JSON(number: old)]))
            #expect(row?.fields["size"] == JSON(number: new))
        }
        #expect(mapping.row(MovedRow("Item", "a1", ["length": "x"]))?.fields["size"] == "x")
        #expect(throws: MoveInError.self) { try Mapping(json: ["decimals": ["Item.length": -1]]) }
        #expect(throws: MoveInError.self) { try Mapping(json: ["decimals": ["Item.next": 2]]).check([Self.item]) }
    }

    @Test func classesAndFieldsAreRenamedEverywhere() throws {
        let mapping = try Mapping(json: Self.file)
        let log = MovedClass(name: "Log"), relation = MovedClass(name: "_Join:tags:Item")
        try mapping.check([Self.item, log, relation])
        #expect(mapping.schema(log) == nil)
        #expect(mapping.schema(relation)?.name == "_Join:marks:OldItem")
        let schema = try #require(mapping.schema(Self.item))
        #expect(schema.name == "OldItem")
        #expect(
            schema.fields == [
                "size": ["type": "Number"], "marks": ["type": "Relation", "targetClass": "OldItem"],
                "next": ["type": "Pointer", "targetClass": "OldItem"],
                "log": ["type": "Pointer", "targetClass": "Log"],
            ])
        #expect(
            schema.classLevelPermissions == [
                "find": ["*": true], "get": ["pointerFields": ["next"]], "readUserFields": ["size"],
                "protectedFields": ["*": ["size"], "userField:next": ["size"]],
            ])
        #expect(schema.indexes == ["a": ["next": 1, "size": -1], "c": ["createdAt": 1]])

        let row = MovedRow(
            "Item", "a1",
            [
                "length": 3, "junk": "x",
                "deep": [["next": .pointer("Item", "a2"), "plain": ["className": "Item"]]],
            ])
        let moved = try #require(mapping.row(row))
        #expect(moved.className == "OldItem")
        #expect(
            moved.fields == [
                "objectId": "a1", "size": 3,
                "deep": [["next": .pointer("OldItem", "a2"), "plain": ["className": "Item"]]],
            ])
        #expect(mapping.row(MovedRow("Log", "l1")) == nil)
        #expect(mapping.row(MovedRow("_Join:tags:Item", "a1:a2"))?.className == "_Join:marks:OldItem")
    }

    @Test func fieldsCanSwapTheirNames() throws {
        let mapping = try Mapping(json: ["fields": ["Item.a": "b", "Item.b": "a"]])
        let item = MovedClass(name: "Item", fields: ["a": ["type": "Number"], "b": ["type": "String"]])
        try mapping.check([item])
        #expect(mapping.schema(item)?.fields == ["a": ["type": "String"], "b": ["type": "Number"]])
        #expect(mapping.row(MovedRow("Item", "x", ["a": 1, "b": "t"]))?.fields == ["objectId": "x", "a": "t", "b": 1])
    }

    @Test func everyWrongNameIsNamedAtOnce() throws {
        let mapping = try Mapping(json: [
            "classes": ["Missing": "Other", "Item": "not a name", "Log": "Kept"],
            "fields": ["Item.none": "x", "Item.objectId": "id2", "Item.length": "junk", "Nowhere.a": "b"],
        ])
        let error = #expect(throws: MoveInError.self) {
            try mapping.check([Self.item, MovedClass(name: "Log"), MovedClass(name: "Kept")])
        }
        let text = error?.description ?? ""
        for part in [
            "no class Missing", "not a name", "two classes would be Kept", "no field Item.none",
            "Item.objectId keeps its name", "two fields of Item would be junk", "no class Nowhere",
        ] {
            #expect(text.contains(part), "\(part) in \(text)")
        }
    }

    @Test func anotherFormIsRefused() {
        for json: JSON in [[], ["class": [:]], ["classes": ["A": 1]], ["fields": ["NoDot": "x"]]] {
            #expect(throws: MoveInError.self) { try Mapping(json: json) }
        }
    }
}
