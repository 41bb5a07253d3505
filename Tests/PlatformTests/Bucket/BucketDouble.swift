import Foundation
import Outbound
import ParseProtocol
import Platform
import ProcessKit
import Synchronization

/// An in-memory bucket whose failures a test controls.
final class BucketDouble: Sendable {
    private struct Object {
        var content: [UInt8]
        var headers: [String: String]
    }

    private struct State {
        var objects: [String: Object] = [:]
        var methods: [String] = []
        /// Failing requests, by number from 0.
        var failsAt: Set<Int> = []
        var changesContent = false
        var tag: String?
    }

    private let state = Mutex(State())

    /// The last component of each object's path, decoded.
    var names: Set<String> { state.withLock { Set($0.objects.keys) } }
    /// The methods of all requests, in order.
    var methods: [String] { state.withLock { $0.methods } }

    /// Leaves the requests with these numbers unanswered, counted from the first request.
    func fail(at numbers: Set<Int>) { state.withLock { $0.failsAt = numbers } }
    /// Whether the bucket stores other content than it was given.
    func changeContent(_ changes: Bool) { state.withLock { $0.changesContent = changes } }
    /// The `ETag` in answers, instead of the content's MD5.
    func answer(tag: String) { state.withLock { $0.tag = tag } }
    func forget(_ name: String) { state.withLock { $0.objects[name] = nil } }

    /// A bucket client for this double.
    /// - Parameters:
    ///   - more: further settings.
    ///   - before: runs before each request.
    func bucket(
        _ more: [String: String] = [:], before: @escaping @Sendable (String) async -> Void = { _ in }
    ) throws -> FileBucket {
        let settings = [
            "SATCHEL_FILES_BUCKET": "shop", "SATCHEL_FILES_BUCKET_URL": "http://127.0.0.1:9",
            "SATCHEL_FILES_BUCKET_ACCESS_KEY": "AK", "SATCHEL_FILES_BUCKET_SECRET": "secret",
            "SATCHEL_FILES_BUCKET_MOVE_BYTES": "1073741824",
        ]
        guard let configuration = try BucketConfiguration(Settings(settings.merging(more) { $1 })) else {
            throw StartupProblem("There is no bucket.")
        }
        return FileBucket(configuration) { [self] request throws(OutboundFailure) in
            await before(request.method.rawValue)
            return try answer(request)
        }
    }

    private func answer(_ request: OutboundRequest) throws(OutboundFailure) -> OutboundResponse {
        let isFailure = state.withLock { state in
            state.methods.append(request.method.rawValue)
            return state.failsAt.contains(state.methods.count - 1)
        }
        if isFailure { throw OutboundFailure(.broken, wasNotSent: false) }
        let name = request.url.split(separator: "/").last.flatMap { String($0).removingPercentEncoding } ?? ""
        let headers = Dictionary(request.headers.map { ($0.name.lowercased(), $0.value) }) { $1 }
        switch request.method {
        case .put: return put(name, request.body, headers)
        case .delete:
            forget(name)
            return OutboundResponse(status: 204, body: [])
        default: return get(name, headers["range"] ?? "")
        }
    }

    private func put(_ name: String, _ body: [UInt8], _ headers: [String: String]) -> OutboundResponse {
        let md5 = Data(base64Encoded: headers["content-md5"] ?? "").map { Array($0).hex } ?? ""
        return state.withLock { state in
            let kept = state.changesContent ? body.map { $0 ^ 1 } : body
            state.objects[name] = Object(content: kept, headers: headers)
            return OutboundResponse(status: 200, headers: ["etag": "\"\(state.tag ?? md5)\""], body: [])
        }
    }

    private func get(_ name: String, _ range: String) -> OutboundResponse {
        guard let object = state.withLock({ $0.objects[name] }) else {
            return OutboundResponse(status: 404, body: Array("<Error><Code>NoSuchKey</Code></Error>".utf8))
        }
        let ends = range.dropFirst("bytes=".count).split(separator: "-").compactMap { Int($0) }
        guard ends.count == 2, ends[0] <= ends[1], ends[1] < object.content.count else {
            return OutboundResponse(status: 416, body: Array("<Error><Code>InvalidRange</Code></Error>".utf8))
        }
        return OutboundResponse(
            status: 206,
            headers: [
                "content-range": "bytes \(ends[0])-\(ends[1])/\(object.content.count)",
                "x-amz-meta-sha256": object.headers["x-amz-meta-sha256"] ?? "",
            ], body: Array(object.content[ends[0]...ends[1]]))
    }
}
