import Foundation
import ParseProtocol
import TestSupport
import Testing

/// Files in the gateway's cache equal the catalog's files at every moment.
@Suite struct FileCacheTests {
    private static func hits(_ suite: Suite) async throws -> Int64 {
        let cache = try #require(try await ParseClient.master(suite).get("/serverInfo")["fileCache"])
        return try #require(cache["hits"]?.intValue)
    }

    /// An answer without the parts that always differ.
    private static func shape(_ answer: ParseClient.Answer) -> String {
        let headers = answer.headers.filter { !["date", "x-satchel-request-id"].contains($0.name.lowercased()) }
        return "\(answer.status) \(headers.map { "\($0.name): \($0.value)" }.sorted()) \(answer.text)"
    }

    /// Uses its own suite, because class changes by other tests invalidate the cache.
    @Test func aFileFromMemoryIsWhatTheCatalogHasUntilItIsRemoved() async throws {
        try await Suite.with { try await aFileFromMemory($0) }
    }

    private func aFileFromMemory(_ suite: Suite) async throws {
        let client = try await Customer.signUp(suite).client
        let uploaded = try await client.upload(Array("0123456789".utf8), as: "digits.txt", type: "text/plain")
        let path = "/files/satchel/\(uploaded.json.text("name"))"
        let ways: [[(String, String)]] = [
            [("Range", "bytes=2-4")], [("Range", "bytes=-1")], [("Range", "bytes=99-")], [],
        ]
        // The last answer is cached.
        var asked: [String] = []
        for headers in ways { asked.append(Self.shape(try await client.download(path, headers))) }
        let before = try await Self.hits(suite)
        for (headers, asked) in zip(ways, asked) {
            #expect(Self.shape(try await client.download(path, headers)) == asked, "\(headers)")
        }
        #expect(try await Self.hits(suite) >= before + Int64(ways.count))
        #expect(try await ParseClient.master(suite).call(.DELETE, path).status == 200)
        for headers in ways { #expect(try await client.download(path, headers).status == 404, "\(headers)") }
    }
}
