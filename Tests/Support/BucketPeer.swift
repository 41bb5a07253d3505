import NIOHTTP1
import ParseProtocol

/// A bucket of `moto`, strict about signatures (`Tests/Peers/s3.py`), and how a test tells it what to do.
package struct BucketPeer: Sendable {
    package let peer: Peer
    /// Never a real one; the tests look for it where it must not be.
    package static let secret = "bucket-secret-4be81d"
    private static let (name, accessKey) = ("shop", "AKSATCHELTESTS")

    package static func with(_ body: (BucketPeer) async throws -> Void) async throws {
        try await Peer.with("s3.py", [name, accessKey, secret]) { try await body(BucketPeer(peer: $0)) }
    }

    /// Settings of a suite that keeps files here.
    package var settings: [String: String] {
        [
            "SATCHEL_FILES_BUCKET": Self.name, "SATCHEL_FILES_BUCKET_URL": peer.url,
            "SATCHEL_FILES_BUCKET_ACCESS_KEY": Self.accessKey, "SATCHEL_FILES_BUCKET_SECRET": Self.secret,
        ]
    }

    /// The next `times` requests of a method, or all of them, fail in the way `how`.
    package func fail(_ how: String, method: String? = nil, times: Int = 1) async throws {
        var order: JSON = ["how": .string(how), "times": .int(Int64(times))]
        order["method"] = method.map(JSON.string)
        _ = try await peer.control("fail", order)
    }

    /// No more failures.
    package func heal() async throws { _ = try await peer.control("heal", [:]) }

    /// The objects by their keys, each with `size`, `type` and `disposition`; without the one by which the shop finds
    /// out whether it may write.
    package func objects() async throws -> [String: JSON] {
        let state = try JSON(parsing: try await peer.control("state", [:]))
        return (state["objects"]?.objectValue ?? [:]).filter { !$0.key.hasSuffix("satchel-probe") }
    }

    /// Removes an object past the shop.
    package func remove(_ key: String) async throws { _ = try await peer.control("remove", ["key": .string(key)]) }

    /// Fetches a URL of it, as a client does that was sent there.
    package func fetch(_ url: String, _ headers: [(String, String)] = []) async throws -> ParseClient.Answer {
        let answer = try await HTTPConnections.send(.GET, url, headers: HTTPHeaders(headers))
        return .init(
            status: Int(answer.head.status.code), headers: answer.head.headers, body: answer.bytes, json: .null)
    }
}
