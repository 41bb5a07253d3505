import ParseProtocol
import TestSupport
import Testing

/// Device tokens: a client that knows one can reach a person's screen. Id T9i of docs/internals/hardening.md.
@Suite struct DeviceTokenTests {
    /// T9i
    @Test func aTokenIsForItsDeviceAlone() async throws {
        let suite = try await Suite.shared
        let id = "Device-\(Names.random(16))"
        let token = Names.random(24)
        var device = ParseClient(suite)
        device.installationId = id
        let made = try await device.call(
            .POST, "/installations",
            ["deviceType": "android", "deviceToken": .string(token), "installationId": .string(id), "badge": 3])
        #expect(made.status == 201, "\(made.text)")
        let master = ParseClient.master(suite)
        for style in [ParseClient.Style.headers, .tunnelled] {
            var client = device
            client.style = style
            for client in [client, ParseClient(suite, masterKey: Suite.masterKey, style: style)] {
                for path in ["/installations/\(made.objectId)", "/classes/_Installation/\(made.objectId)"] {
                    let own = try await client.get(path)
                    #expect(own["deviceToken"] == .string(token), "\(own.text)")
                    #expect(own["installationId"] == .string(id.lowercased()), "\(own.text)")
                }
            }
        }
        var other = try await Customer.signUp(suite).client
        var ways: [ParseClient] = [ParseClient(suite), ParseClient(suite, style: .tunnelled), other]
        other.installationId = "Device-\(Names.random(16))"
        ways.append(other)
        for client in ways {
            for path in ["/installations/\(made.objectId)", "/classes/_Installation/\(made.objectId)"] {
                for options in [[:], ["keys": "deviceToken,installationId,badge"]] as [[String: JSON]] {
                    let seen = try await client.get(path, options)
                    #expect(seen.status == 200, "\(seen.text)")
                    #expect(seen["badge"] == 3, "\(seen.text)")
                    #expect(!seen.text.contains(token), "\(seen.text)")
                    #expect(!seen.text.lowercased().contains(id.lowercased()), "\(seen.text)")
                }
            }
            let batch = try await client.call(
                .POST, "/batch",
                ["requests": [["method": "GET", "path": .string("/parse/installations/\(made.objectId)")]]])
            #expect(batch.status == 200, "\(batch.text)")
            #expect(!batch.text.contains(token), "\(batch.text)")
            let found = try await client.find("_Installation", ["objectId": .string(made.objectId)])
            #expect(!found.text.contains(token), "\(found.text)")
            let pointer: JSON = [
                "__type": "Pointer", "className": "_Installation", "objectId": .string(made.objectId),
            ]
            let className = "Holder\(Names.random(6))"
            let holder = try await client.create(className, ["device": pointer])
            let included = try await client.get("/classes/\(className)/\(holder.objectId)", ["include": "device"])
            #expect(!included.text.contains(token), "\(included.text)")
        }
        #expect(try await master.find("_Installation", ["deviceToken": .string(token)]).results.count == 1)
    }
}
