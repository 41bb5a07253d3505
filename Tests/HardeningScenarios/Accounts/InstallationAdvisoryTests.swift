import NIOHTTP1
import ParseProtocol
import TestSupport
import Testing

/// A device's name must be a string: no other value reaches the look-up of the device that a request means.
@Suite struct InstallationAdvisoryTests {
    private static let operators: [JSON] = [
        ["$ne": "x"], ["$exists": true], ["$regex": ".*"], ["$gt": ""], ["$nin": []], ["$in": []], ["$or": [[:]]],
        ["__op": "Increment", "amount": 1], ["__op": "Add", "objects": ["a"]], ["__type": "Date"], [:], [], ["a"],
        0, 1, true, false,
    ]

    @Test("2026-100631: an operator in place of a token or id takes no device away")
    func advisory2026_100631_operatorsTakeNoDeviceAway() async throws {
        let suite = try await Suite.shared
        let master = ParseClient.master(suite)
        let devices = try await Devices.register(suite, tokens: (0..<5).map { _ in "token\(Names.random(20))" })
        let own = try #require(devices.objectIds.first)
        func count() async throws -> JSON? {
            try await master.find(
                "_Installation", ["channels": .string(devices.channel)], ["count": 1, "limit": 0])["count"]
        }
        for caller in [ParseClient(suite), try await Customer.signUp(suite).client] {
            for value in Self.operators {
                for field in ["deviceToken", "installationId"] {
                    var object: JSON = [
                        "deviceType": "ios", "deviceToken": .string("t\(Names.random(20))"),
                        "installationId": .string("i\(Names.random(20))"),
                    ]
                    object[field] = value
                    for (method, path) in [
                        (HTTPMethod.POST, "/installations"), (.POST, "/classes/_Installation"),
                        (.PUT, "/installations/\(own.value)"),
                    ] {
                        for way in Way.allCases {
                            let outcome = try await caller.go(way, method, path, object)
                            let what = "\(way) \(method) \(path) \(field) \(value): \(outcome.text)"
                            #expect(!outcome.isSuccess, "\(what)")
                            #expect(outcome.code == 111, "\(what)")
                        }
                    }
                }
            }
        }
        #expect(try await count() == 5)

        // The control: a token given as a string does move to the device that names it, as the protocol requires.
        let moved = try await ParseClient(suite).call(
            .POST, "/installations",
            ["deviceType": "ios", "deviceToken": .string(own.key), "installationId": .string("i\(Names.random(20))")])
        #expect(moved.status == 201 || moved.status == 200, "\(moved.text)")
        let holders = try await master.find("_Installation", ["deviceToken": .string(own.key)])
        #expect(holders.results.map(\.objectId) == [moved.objectId], "\(holders.text)")
    }

    @Test("2026-100631: nobody without the right deletes a device by a query")
    func advisory2026_100631_onlyTheMasterKeyDeletes() async throws {
        let suite = try await Suite.shared
        let devices = try await Devices.register(suite, tokens: ["token\(Names.random(20))"])
        let id = devices.objectIds.values.first ?? ""
        for caller in [ParseClient(suite), try await Customer.admin(suite)] {
            for way in Way.allCases {
                for path in [
                    "/installations/\(id)", "/classes/_Installation/\(id)", "/installations", "/purge/_Installation",
                ] {
                    let outcome = try await caller.go(
                        way, .DELETE, path, nil, options: ["where": ["deviceToken": ["$ne": "x"]]])
                    #expect(!outcome.isSuccess, "\(way) \(path): \(outcome.text)")
                }
            }
        }
        let master = ParseClient.master(suite)
        #expect(try await master.get("/installations/\(id)").status == 200)
        #expect(try await master.call(.DELETE, "/installations/\(id)").status == 200)
        #expect(try await master.get("/installations/\(id)").code == 101)
    }

    /// A batch sends consecutive changes to their service in one message.
    @Test func aBatchOfTwoRefusesAsOneRequestDoes() async throws {
        let suite = try await Suite.shared
        let client = ParseClient(suite)
        let devices = try await Devices.register(suite, tokens: ["token\(Names.random(20))"])
        let id = devices.objectIds.values.first ?? ""
        for (method, path, code) in [
            (HTTPMethod.DELETE, "/classes/_Installation/\(id)", 119), (.DELETE, "/installations/\(id)", 119),
            (.PUT, "/classes/_Session/\(id)", 209), (.PUT, "/sessions/\(id)", 209),
        ] {
            let refused = try await client.call(method, path, [:])
            #expect(refused.code == code, "\(path): \(refused.text)")
            let item: JSON = ["method": .string(method.rawValue), "path": .string("/parse" + path), "body": [:]]
            let batch = try await client.call(.POST, "/batch", ["requests": [item, item]])
            let errors = (batch.json.arrayValue ?? []).map { $0["error"] }
            #expect(errors.count == 2)
            // An item of a batch has no hint.
            for error in errors { #expect(error?["error"] == refused["error"] && error?["code"] == refused["code"]) }
            let atomic = try await client.call(.POST, "/batch", ["requests": [item, item], "transaction": true])
            #expect(atomic.code == code, "\(path): \(atomic.text)")
        }
    }
}
