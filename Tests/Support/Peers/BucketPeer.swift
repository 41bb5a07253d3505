import NIOHTTP1
import ParseProtocol

/// A bucket of `moto` with strict signature checks (`Tests/Peers/servers/s3.py`), and the commands by which a test
/// controls it.
package struct BucketPeer: Sendable {
    package let peer: Peer
    /// A fake secret. Tests check that it does not leak.
    package static let secret = "bucket-secret-4be81d"
    private static let (name, accessKey) = ("shop", "AKSATCHELTESTS")

    package static func with(_ body: (BucketPeer) async throws -> Void) async throws {
        try await Peer.with("s3.py", [name, accessKey, secret]) { try await body(BucketPeer(peer: $0)) }
    }

    /// The settings of a suite that stores its files in this bucket.
    package var settings: [String: String] {
        [
            "SATCHEL_FILES_BUCKET": Self.name, "SATCHEL_FILES_BUCKET_URL": peer.url,
            "SATCHEL_FILES_BUCKET_ACCESS_KEY": Self.accessKey, "SATCHEL_FILES_BUCKET_SECRET": Self.secret,
        ]
    }

    /// Keys and address under the names of AWS's own tools.
    package var variables: [String: String] {
        ["AWS_ACCESS_KEY_ID": Self.accessKey, "AWS_SECRET_ACCESS_KEY": Self.secret, "AWS_ENDPOINT_URL": peer.url]
    }

    /// Stores an object directly, as another client does.
    package func put(_ key: String, _ text: String) async throws {
        _ = try await peer.control("put", ["key": .string(key), "text": .string(text)])
    }

    /// Makes the next `times` requests of a method, or all requests, fail in the mode `how`.
    package func fail(_ how: String, method: String? = nil, times: Int = 1) async throws {
        var order: JSON = ["how": .string(how), "times": .int(Int64(times))]
        order["method"] = method.map(JSON.string)
        _ = try await peer.control("fail", order)
    }

    /// Ends all injected failures.
    package func heal() async throws { _ = try await peer.control("heal", [:]) }

    /// The objects by key, each with `size`, `type` and `disposition`. Omits the object by which the shop checks write
    /// access.
    package func objects() async throws -> [String: JSON] {
        let state = try JSON(parsing: try await peer.control("state", [:]))
        return (state["objects"]?.objectValue ?? [:]).filter { !$0.key.hasSuffix("satchel-probe") }
    }

    /// Removes an object directly, bypassing the shop.
    package func remove(_ key: String) async throws { _ = try await peer.control("remove", ["key": .string(key)]) }

    /// Fetches a URL of the bucket, as a redirected client does.
    package func fetch(_ url: String, _ headers: [(String, String)] = []) async throws -> ParseClient.Answer {
        let answer = try await HTTPConnections.send(.GET, url, headers: HTTPHeaders(headers))
        return .init(
            status: Int(answer.head.status.code), headers: answer.head.headers, body: answer.bytes, json: .null)
    }
}
