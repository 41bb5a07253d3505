import ParseProtocol
import TestSupport
import Testing

/// Config: values that operators change without a release, all or nothing, and values that only the master key sees.
@Suite struct ConfigTests {
    private static func name() -> String { "p\(Names.random(10))" }

    @Test(arguments: [ParseClient.Style.headers, .tunnelled])
    func everyTypeOfValueComesBackAsItWasSet(_ style: ParseClient.Style) async throws {
        let suite = try await Suite.shared
        var master = ParseClient.master(suite)
        master.style = style
        let values: [JSON] = [
            "text", 1, 2.5, true, .null, [1, "two", [:]], ["nested": ["deeper": 1]],
            ["__type": "Date", "iso": "2030-01-01T00:00:00.000Z"],
            ["__type": "GeoPoint", "latitude": 1.5, "longitude": -2],
            ["__type": "Pointer", "className": "Product", "objectId": "abcdefghij"],
            // A client may include a file's url; the server returns its own.
            ["__type": "File", "name": "terms.pdf", "url": .string("\(suite.url)/files/satchel/terms.pdf")],
            ["__type": "Bytes", "base64": "aGVsbG8="],
        ]
        let names = values.map { _ in Self.name() }
        let params = Dictionary(uniqueKeysWithValues: zip(names, values))
        let put = try await master.call(.PUT, "/config", ["params": .object(params)])
        #expect(put.json == ["result": true], "\(put.text)")
        let read = try await ParseClient(suite, style: style).get("/config")
        for (name, value) in params { #expect(read["params"]?[name] == value, "\(value.serializedText)") }
        #expect(read["masterKeyOnly"] == nil)

        let deletion = params.mapValues { _ -> JSON in ["__op": "Delete"] }
        #expect(try await master.call(.PUT, "/config", ["params": .object(deletion)]).status == 200)
        let after = try await ParseClient(suite).get("/config")["params"]?.objectValue ?? [:]
        #expect(Set(after.keys).isDisjoint(with: names))
    }

    @Test func onlyTheMasterKeySeesWhatIsForItAndChangesAnything() async throws {
        let suite = try await Suite.shared
        let (open, secret) = (Self.name(), Self.name())
        let master = ParseClient.master(suite)
        _ = try await master.call(
            .PUT, "/config",
            ["params": .object([open: 1, secret: "for servers"]), "masterKeyOnly": .object([secret: true])])
        let seen = try await ParseClient(suite).get("/config")
        #expect(seen["params"]?[open] == 1)
        #expect(!seen.text.contains(secret))
        #expect(!seen.text.contains("for servers"))
        for client in [ParseClient(suite), try await Customer.signUp(suite).client] {
            #expect(try await client.get("/config")["params"]?[secret] == nil)
            let refused = try await client.call(.PUT, "/config", ["params": .object([open: 2])])
            #expect(refused.status == 403, "\(refused.text)")
        }
        let all = try await master.get("/config")
        #expect(all["params"]?[open] == 1)
        #expect(all["params"]?[secret] == "for servers")
        #expect(all["masterKeyOnly"]?[secret] == true)
        #expect(all["masterKeyOnly"]?[open] == false)
        // A new value remains secret like the old one; the flag can be removed separately.
        _ = try await master.call(.PUT, "/config", ["params": .object([secret: "new"])])
        #expect(try await ParseClient(suite).get("/config")["params"]?[secret] == nil)
        _ = try await master.call(.PUT, "/config", ["masterKeyOnly": .object([secret: ["__op": "Delete"]])])
        #expect(try await ParseClient(suite).get("/config")["params"]?[secret] == "new")
    }

    @Test func changesAtOnceOfDifferentParametersAllStay() async throws {
        let suite = try await Suite.shared
        let names = (0..<12).map { _ in Self.name() }
        try await withThrowingTaskGroup(of: Int.self) { group in
            for name in names {
                group.addTask {
                    try await ParseClient.master(suite).call(
                        .PUT, "/config", ["params": .object([name: .string(name)])]
                    ).status
                }
            }
            for try await status in group { #expect(status == 200) }
        }
        let params = try await ParseClient(suite).get("/config")["params"]
        for name in names { #expect(params?[name] == .string(name)) }
        let deletion = Dictionary(uniqueKeysWithValues: names.map { ($0, ["__op": "Delete"] as JSON) })
        _ = try await ParseClient.master(suite).call(.PUT, "/config", ["params": .object(deletion)])
    }

    @Test func badParametersAreRefusedAndNothingOfThemIsKept() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let good = Self.name()
        for (params, code) in [
            (["a-b": 1], 105), (["1a": 1], 105), (["": 1], 105), (["a.b": 1], 105), (["x\" y": 1], 105),
            (["length": 1], 105),
            (["bad": ["__op": "AddRelation", "objects": []]], 107), (["bad": ["a.b": 1]], 121),
            (["bad": ["__type": "GeoPoint", "latitude": 100, "longitude": 0]], 111),
            (["bad": .string(String(repeating: "x", count: 131_072))], 116),
        ] as [([String: JSON], Int)] {
            let answer = try await master.call(.PUT, "/config", ["params": .object(params.merging([good: 1]) { $1 })])
            #expect(answer.code == code, "\(answer.text)")
        }
        for body in [
            [:], ["params": 1], ["params": [:], "masterKeyOnly": 1], ["params": [:], "masterKeyOnly": ["a": 1]],
        ] as [JSON] {
            #expect(try await master.call(.PUT, "/config", body).code == 107, "\(body.serializedText)")
        }
        #expect(try await ParseClient(suite).get("/config")["params"]?[good] == nil)
    }

    @Test func configHoldsAHundredParametersOf128Kilobytes() async throws {
        try await Suite.with { suite in
            let master = ParseClient.master(suite)
            #expect(try await ParseClient(suite).get("/config").json == ["params": [:]])
            func put(_ params: [String: JSON]) async throws -> ParseClient.Answer {
                try await master.call(.PUT, "/config", ["params": .object(params)])
            }
            let hundred = Dictionary(uniqueKeysWithValues: (0..<100).map { ("p\($0)", .int(Int64($0)) as JSON) })
            #expect(try await put(hundred).status == 200)
            #expect(try await put(["oneMore": 1]).code == 116)
            #expect(try await put(["oneMore": 1, "p0": ["__op": "Delete"]]).status == 200)
            let half = JSON.string(String(repeating: "y", count: 65_000))
            #expect(try await put(["p1": half]).status == 200)
            #expect(try await put(["p2": half]).status == 200)
            #expect(try await put(["p3": half]).code == 116)
            let params = try await ParseClient(suite).get("/config")["params"]?.objectValue ?? [:]
            #expect(params.count == 100)
            #expect(params["p3"] == 3)
            #expect(params["oneMore"] == 1)
            // Stored values survive the process.
            try await suite.kill("catalog-1")
            try await suite.untilHealthy()
            #expect(try await ParseClient(suite).get("/config")["params"]?.objectValue == params)
        }
    }

    @Test func noClientReachesConfigAsAClass() async throws {
        let suite = try await Suite.shared
        let customer = try await Customer.signUp(suite).client
        for client in [ParseClient(suite), customer] {
            #expect(try await client.find("_GlobalConfig").code == 119)
            #expect(try await client.get("/classes/_GlobalConfig/1").code == 119)
            #expect(try await client.create("_GlobalConfig", ["params": ["x": 1]]).code == 119)
            #expect(try await client.call(.PUT, "/classes/_GlobalConfig/1", ["params": ["x": 1]]).code == 119)
            let batch = try await client.call(
                .POST, "/batch",
                ["requests": [["method": "POST", "path": "/parse/classes/_GlobalConfig", "body": ["x": 1]]]])
            #expect(batch.json.at(0, "error", "code") == 119, "\(batch.text)")
            let inQuery = try await client.find(
                "Product", ["brand": ["$inQuery": ["className": "_GlobalConfig", "where": [:]]]])
            #expect(inQuery.code == 102)
        }
        let info = try await ParseClient.master(suite).get("/serverInfo")
        #expect(info.json.at("features", "globalConfig", "update") == true)
    }
}
