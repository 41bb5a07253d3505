import ParseProtocol
import TestSupport
import Testing

/// An operator changes a field's type: first a preview, then the conversion of all rows.
@Suite struct SchemaConversionTests {
    private static func filled(_ values: [JSON]) async throws -> (master: ParseClient, name: String, ids: [String]) {
        let master = ParseClient.master(try await Suite.shared)
        let name = "Converted\(Names.random(8))"
        var ids: [String] = []
        for value in values { ids.append(try await master.create(name, ["f": value]).objectId) }
        _ = try await master.create(name, ["g": 1])
        return (master, name, ids)
    }

    private static let rows: [(values: [JSON], type: JSON, expected: [JSON?])] = [
        (["12", "1.5", "-3"], ["type": "Number"], [12, 1.5, -3]),
        ([12, 1.5], ["type": "String"], ["12", "1.5"]),
        ([true, false], ["type": "Number"], [1, 0]),
        (["true", "0"], ["type": "Boolean"], [true, false]),
        (
            ["2020-02-29T12:00:00.000Z"], ["type": "Date"],
            [["__type": "Date", "iso": "2020-02-29T12:00:00.000Z"]]
        ),
        (["abcdefghij"], ["type": "Pointer", "targetClass": "_User"], [.pointer("_User", "abcdefghij")]),
        (["a", "b"], ["type": "Array"], [["a"], ["b"]]),
    ]

    @Test(arguments: rows.indices) func valuesGetTheNewType(_ index: Int) async throws {
        let (values, type, expected) = Self.rows[index]
        let (master, name, ids) = try await Self.filled(values)
        let before = try await master.get("/classes/\(name)/\(ids[0])").json
        var wish = type
        wish["field"] = "f"
        let preview = try await master.call(.POST, "/schemas/\(name)/convert", wish)
        let count = JSON.int(Int64(values.count))
        #expect(preview["rows"] == count && preview["converted"] == count, "\(preview.text)")
        #expect(preview["applied"] == false && preview["others"] == 0)
        #expect(try await master.get("/classes/\(name)/\(ids[0])").json == before)
        let index = try await master.call(.PUT, "/schemas/\(name)", ["indexes": ["byF": ["f": 1]]])
        #expect(index.status == 200, "\(index.text)")

        wish["apply"] = true
        let applied = try await master.call(.POST, "/schemas/\(name)/convert", wish)
        #expect(applied["applied"] == true, "\(applied.text)")
        for (id, value) in zip(ids, expected) {
            let row = try await master.get("/classes/\(name)/\(id)").json
            #expect(row["f"] == value)
            let found = try await master.find(name, ["f": value ?? .null]).results
            #expect(found.map(\.objectId) == [id])
        }
        #expect(try await master.get("/classes/\(name)/\(ids[0])")["updatedAt"] == before["updatedAt"])
        let schema = try await master.get("/schemas/\(name)").json
        #expect(schema.at("fields", "f", "type") == type["type"])
        #expect(schema["indexes"]?["byF"] == ["f": 1])
        #expect(try await master.create(name, ["f": ["x": 1]]).code == 111)
    }

    @Test func valuesThatCannotBeConvertedAreNamedFirst() async throws {
        let (master, name, ids) = try await Self.filled(["1", "one", "3"])
        var wish: JSON = ["field": "f", "type": "Number"]
        let preview = try await master.call(.POST, "/schemas/\(name)/convert", wish)
        #expect(preview["others"] == 1, "\(preview.text)")
        #expect(preview["examples"] == [["objectId": .string(ids[1]), "value": "one"]])
        wish["apply"] = true
        #expect(try await master.call(.POST, "/schemas/\(name)/convert", wish).code == 142)
        #expect(try await master.get("/classes/\(name)/\(ids[0])")["f"] == "1")
        wish["removeOthers"] = true
        #expect(try await master.call(.POST, "/schemas/\(name)/convert", wish)["applied"] == true)
        #expect(try await master.find(name, [:], ["order": "f"]).results.compactMap { $0["f"] } == [1, 3])
    }

    @Test func onlyOperatorsConvertAndOnlyWhatIsTheirs() async throws {
        let suite = try await Suite.shared
        let (master, name, _) = try await Self.filled(["1"])
        let wish: JSON = ["field": "f", "type": "Number", "apply": true]
        for client in [ParseClient(suite), try await Customer.anonymous(suite).client] {
            #expect(try await client.call(.POST, "/schemas/\(name)/convert", wish).status == 403)
        }
        let refusals: [(String, JSON, Int)] = [
            (name, ["field": "none", "type": "Number"], 255), ("None\(name)", wish, 103),
            (name, ["field": "f", "type": "GeoPoint"], 111), (name, ["field": "f", "type": "Quaternion"], 111),
            (name, ["field": "f", "type": "Pointer"], 135), ("Product", ["field": "stock", "type": "String"], 136),
        ]
        for (className, wish, code) in refusals {
            #expect(try await master.call(.POST, "/schemas/\(className)/convert", wish).code == code, "\(wish)")
        }
    }
}
