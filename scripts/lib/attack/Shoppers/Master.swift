import NIOCore
import ParseProtocol
import SuiteClient

/// A client with the master key, to prepare the shop before an attack.
struct Master: Sendable {
    let target: Target
    private let link: Link
    private let key: String

    /// Maximum size of the answers to this client's batches and pages.
    private static let bodyBytesKept = 1 << 20

    init(_ target: Target, on group: any EventLoopGroup) async throws {
        self.target = target
        key = try target.secret("master.key")
        link = try await Link.open(target, from: target.host, on: group, bodyBytesKept: Self.bodyBytesKept)
    }

    /// - Throws: `AttackError` for any answer outside 200...299.
    @discardableResult
    func send(_ request: Request) async throws -> JSON {
        var request = request
        request.headers["X-Parse-Master-Key"] = key
        let answer = try await link.send(request.bytes(for: target), timeout: .seconds(60))
        guard (200..<300).contains(answer.status), let json = answer.json else {
            throw AttackError("\(request.method) \(request.path): \(answer.status) \(answer.text.prefix(300))")
        }
        return json
    }

    /// - Parameter path: the target of each object's request, relative to the mount.
    func batch(_ method: String, _ requests: [(path: String, body: JSON)], atOnce: Int = 50) async throws {
        for start in stride(from: 0, to: requests.count, by: atOnce) {
            let items = requests[start..<min(start + atOnce, requests.count)].map { path, body -> JSON in
                ["method": .string(method), "path": .string(target.mount + path), "body": body]
            }
            let answer = try await send(.post("/batch", ["requests": .array(items)]))
            let problem = answer.arrayValue?.first { $0["success"] == nil }
            guard problem == nil else { throw AttackError("batch: \(problem?.serializedText.prefix(300) ?? "")") }
        }
    }

    func find(_ path: String, _ options: [String: JSON]) async throws -> [JSON] {
        try await send(Request(path: path, query: options))["results"]?.arrayValue ?? []
    }
}
