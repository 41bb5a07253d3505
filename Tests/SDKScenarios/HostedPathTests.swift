import ParseProtocol
import TestSupport
import Testing

/// The path of hosted Parse, for apps that still contain it.
@Suite struct HostedPathTests {
    @Test(arguments: [ParseClient.Style.headers, .tunnelled])
    func theHostedPathWorksToo(style: ParseClient.Style) async throws {
        var client = ParseClient(try await Suite.shared, style: style)
        client.url = client.url.replacingOccurrences(of: "/parse", with: "/1")
        let className = "Hosted\(Names.random(6))"
        let created = try await client.create(className, ["a": 1])
        #expect(created.status == 201, "\(created.text)")
        let inner: JSON = ["method": "POST", "path": .string("/1/classes/\(className)"), "body": ["a": 2]]
        let batch = try await client.call(.POST, "/batch", ["requests": [inner]])
        #expect(batch.json.at(0, "success", "objectId") != nil, "\(batch.text)")
        #expect(try await client.find(className).results.count == 2)
    }
}
