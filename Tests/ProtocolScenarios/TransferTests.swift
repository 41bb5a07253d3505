import ParseProtocol
import TestSupport
import Testing

/// Export and import of classes: an exported file imports as the same objects.
@Suite struct TransferTests {
    private static let values: [JSON] = [
        [
            "text": "plain", "number": 1.5, "flag": true, "day": ["__type": "Date", "iso": "2020-02-29T12:00:00.000Z"],
            "list": [1, "two", ["three": 3]], "object": ["a": ["b": .null]],
        ],
        [
            "text": "comma, \"quote\", line\nbreak, \u{301}combining, emoji 🧴", "number": -3, "flag": false,
            "place": ["__type": "GeoPoint", "latitude": 1.25, "longitude": -2.5],
            "friend": ["__type": "Pointer", "className": "_User", "objectId": "abc"],
            "ACL": ["*": ["read": true], "role:admins": ["read": true, "write": true]],
        ],
        ["text": "  spaces  ", "number": 0],
        ["text": "=1+1", "bytes": ["__type": "Bytes", "base64": "aGVsbG8="]],
    ]

    private func filled(_ client: ParseClient) async throws -> String {
        let name = "Export\(Names.random(8))"
        for value in Self.values { _ = try await client.create(name, value) }
        return name
    }

    private func upload(
        _ client: ParseClient, _ className: String, _ type: String, _ body: [UInt8]
    ) async throws
        -> ParseClient.Answer
    {
        try await client.send(
            .POST, "/import/\(className)", headers: client.credentials + [("Content-Type", type)], body: body)
    }

    /// The objects of a class in a stable order, complete.
    private func objects(_ client: ParseClient, _ className: String) async throws -> [JSON] {
        try await client.find(className, [:], ["order": "objectId", "limit": 1000]).results
    }

    /// Public rows of hosted Parse have no ACL, and their lines name no customer.
    @Test(arguments: ["lines first", "orders first"])
    func ownedRowsBecomeTheirOwnersAlone(_ order: String) async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let (owner, stranger) = (try await Customer.signUp(suite), try await Customer.signUp(suite))
        let (orderId, unownedId) = (Names.objectId(), Names.objectId())
        let (itemId, strayId, addressId) = (Names.objectId(), Names.objectId(), Names.objectId())
        let items: [JSON] = [itemId, strayId].map {
            ["objectId": .string($0), "quantity": 1, "product": .pointer("Product", "p1")]
        }
        let orders: [JSON] = [
            [
                "objectId": .string(orderId), "customer": owner.pointer, "orderStatus": 1,
                "items": [.pointer("OrderItem", itemId)],
            ],
            ["objectId": .string(unownedId), "orderStatus": 1, "ACL": .null],
        ]
        var files = [("OrderItem", items), ("Order", orders)]
        if order == "orders first" { files.reverse() }
        files.append(("Address", [["objectId": .string(addressId), "owner": owner.pointer, "city": "Rome"]]))
        for (name, rows) in files {
            let answer = try await upload(
                master, name, "application/json", JSON.object(["results": .array(rows)]).serialized)
            #expect(answer["failed"] == 0, "\(answer.text)")
        }
        let made = try await master.create("Order", ["customer": owner.pointer, "orderStatus": 1])
        let mine = ["Order/\(orderId)", "Order/\(made.objectId)", "OrderItem/\(itemId)", "Address/\(addressId)"]
        for path in mine {
            #expect(try await owner.client.get("/classes/\(path)").status == 200, "\(path)")
            #expect(try await stranger.client.get("/classes/\(path)").code == 101, "\(path)")
        }
        for path in ["Order/\(unownedId)", "OrderItem/\(strayId)"] {
            #expect(try await master.get("/classes/\(path)").json["ACL"] == [:], "\(path)")
            #expect(try await stranger.client.get("/classes/\(path)").code == 101, "\(path)")
        }
    }

    @Test(arguments: ["json", "csv"]) func aClassComesBackAsItWas(format: String) async throws {
        let master = ParseClient.master(try await Suite.shared)
        let name = try await filled(master)
        let before = try await objects(master, name)
        let file = try await master.get("/export/\(name)", ["format": .string(format)])
        #expect(file.status == 200)
        #expect(file.headers.first(name: "Content-Disposition") == "attachment; filename=\"\(name).\(format)\"")
        let type = format == "csv" ? "text/csv" : "application/json"
        #expect(file.headers.first(name: "Content-Type")?.hasPrefix(type) == true)

        _ = try await master.call(.DELETE, "/purge/\(name)")
        let answer = try await upload(master, name, type, file.body)
        #expect(answer.json == ["imported": .int(Int64(Self.values.count)), "failed": 0, "failures": []])
        #expect(try await objects(master, name) == before)

        // Importing the same file again changes the objects and adds none.
        #expect(try await upload(master, name, type, file.body)["imported"] == .int(Int64(Self.values.count)))
        let again = try await objects(master, name)
        #expect(again.map(\.objectId) == before.map(\.objectId))
        #expect(again.map { $0["createdAt"] } == before.map { $0["createdAt"] })
    }

    /// Like the dashboard's `csv.js`: an additional quote before a formula, which the import removes.
    @Test func formulasAreGuardedAndComeBack() async throws {
        let master = ParseClient.master(try await Suite.shared)
        let name = "Formula\(Names.random(8))"
        let formulas = [
            "=1+1", "+1", "-1", "@SUM(A1)", "\tx", "\rx", "\nx", " =1", "\u{A0}=1", "\u{FF1D}1", "'=1", "''-1", "'\tx",
            "\u{FEFF}=1",
        ]
        let others = ["a=1", "'a", "'", "''", "1-1", " a", "\u{85}=1", "'1"]
        for (number, text) in (formulas + others).enumerated() {
            _ = try await master.create(name, ["text": .string(text), "number": .int(Int64(-number))])
        }
        let before = try await objects(master, name)
        let file = try await master.get("/export/\(name)", ["format": "csv"])
        for text in formulas { #expect(file.text.contains(",\"'\(text)\"") || file.text.contains(",'\(text),")) }
        for text in ["a=1", "1-1"] { #expect(file.text.contains(",\(text),")) }
        #expect(file.text.contains(",-1,"), "A number is no formula.")
        _ = try await master.call(.DELETE, "/purge/\(name)")
        #expect(try await upload(master, name, "text/csv", file.body)["failed"] == 0)
        #expect(try await objects(master, name) == before)
    }

    @Test func aFileOfHostedParseIsTaken() async throws {
        let master = ParseClient.master(try await Suite.shared)
        let name = "Hosted\(Names.random(8))"
        let file = """
            { "results": [
              { "createdAt": "2014-03-01T10:20:30.456Z", "objectId": "Ed1nuqPvcm", "score": 1337,
                "updatedAt": "2015-05-05T00:00:00.000Z" },
              { "createdAt": "2014-03-02T10:20:30.456Z", "objectId": "Ed1nuqPvcn", "score": "wrong type" }
            ] }
            """
        let answer = try await upload(master, name, "application/json", Array(file.utf8))
        #expect(answer["imported"] == 1)
        #expect(answer["failed"] == 1)
        #expect(answer.json.at("failures", 0, "row") == 2)
        #expect(answer.json.at("failures", 0, "code") == 111)
        let stored = try await master.get("/classes/\(name)/Ed1nuqPvcm")
        #expect(stored["createdAt"] == "2014-03-01T10:20:30.456Z")
        #expect(stored["updatedAt"] == "2015-05-05T00:00:00.000Z")
        let early: JSON = ["createdAt": ["$lt": ["__type": "Date", "iso": "2014-12-31T00:00:00.000Z"]]]
        #expect(try await master.find(name, early).results.count == 1)
    }

    @Test func thousandsOfObjectsAreExportedPageByPage() async throws {
        let master = ParseClient.master(try await Suite.shared)
        let name = "Many\(Names.random(8))"
        let rows = (0..<1203).map { "row \($0),\($0)\n" }.joined()
        let answer = try await upload(master, name, "text/csv; charset=utf-8", Array(("title,number\n" + rows).utf8))
        #expect(answer["imported"] == 1203)
        let file = try await master.get("/export/\(name)")
        #expect(Set(file.results.compactMap { $0["number"]?.intValue }).count == 1203)
        let few = try await master.get("/export/\(name)", ["where": ["number": ["$lt": 5]], "format": "csv"])
        #expect(few.text.split(separator: "\r\n").count == 6)
    }

    @Test func anAdminExportsAndImportsWithTheirOwnRights() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let admin = try await Customer.admin(suite)
        let name = "Owned\(Names.random(8))"
        let secret = try await master.create(name, ["text": "secret", "ACL": [:]]).objectId
        _ = try await master.create(name, ["text": "public"])
        #expect(try await admin.get("/export/\(name)").results.map { $0.text("text") } == ["public"])
        let file: JSON = [["objectId": .string(secret), "text": "taken over"], ["objectId": "chosen", "text": "new"]]
        let answer = try await upload(admin, name, "application/json", file.serialized)
        #expect(answer["imported"] == 1)
        #expect(answer.json.at("failures", 0, "code") == 101)
        #expect(try await master.get("/classes/\(name)/\(secret)")["text"] == "secret")
        #expect(try await master.get("/classes/\(name)/chosen")["text"] == "new")
    }

    @Test func onlyTheMasterKeyExportsOrImports() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite)
        for client in [ParseClient(suite), customer.client] {
            #expect(try await client.get("/export/Product").code == 119)
            for name in ["Product", "_User", "_Session", "_Role"] {
                #expect(try await upload(client, name, "application/json", Array("[]".utf8)).code == 119, "\(name)")
            }
        }
        let master = ParseClient.master(suite)
        #expect(try await upload(master, "_User", "application/json", Array("[]".utf8))["imported"] == 0)
    }

    @Test func brokenFilesAreRefusedAsAWhole() async throws {
        let master = ParseClient.master(try await Suite.shared)
        let name = "Broken\(Names.random(8))"
        let files: [(String, String, Int)] = [
            ("text/csv", "a,b\n\"no end,1\n", 107), ("text/csv", "a,b\n\"x\"y,1\n", 107), ("text/csv", "a,b\n1\n", 107),
            ("application/json", "{\"results\":5}", 107), ("application/json", "[1,", 107),
            ("application/json", "", 107),
        ]
        for (type, file, code) in files {
            #expect(try await upload(master, name, type, Array(file.utf8)).code == code, "\(file)")
        }
        #expect(try await upload(master, name, "text/csv", [0x61, 0x0A, 0xFF, 0xFE]).code == 107)
        #expect(try await master.get("/export/\(name)", ["format": "xml"]).code == 102)
        #expect(try await master.find(name).results.isEmpty)
    }
}
