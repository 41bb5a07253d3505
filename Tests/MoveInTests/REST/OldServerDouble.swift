import Foundation
import Outbound
import ParseProtocol
import Synchronization

@testable import MoveIn

/// An old server in memory, with the queries that a move needs. It can fail, and answer anything.
final class OldServerDouble: HTTPTransport {
    enum Mishap: Sendable {
        case noAnswer(OutboundFailure.Reason)
        case answer(Int, [UInt8], [String: String])

        static func status(_ status: Int, _ headers: [String: String] = [:]) -> Mishap {
            .answer(status, Array(#"{"error":"busy"}"#.utf8), headers)
        }
    }

    struct State: Sendable {
        var schemas: [JSON] = []
        /// Sorted by id.
        var rows: [String: [JSON]] = [:]
        /// Related ids by `<Class>.<id>.<field>`.
        var related: [String: [String]] = [:]
        /// Answers of other paths.
        var others: [String: JSON] = [:]
        /// The fate of the next requests.
        var mishaps: [Mishap] = []
        /// A path that the keys may not read.
        var refusedPath: String?
        /// Paths with queries, without the mount.
        var requests: [String] = []
        /// Rows that the server answers at most, whatever the limit.
        var rowsMax = Int.max
    }

    private let state: Mutex<State>

    init(_ state: State) { self.state = Mutex(state) }

    var requests: [String] { state.withLock { $0.requests } }
    func change(_ body: @Sendable (inout State) -> Void) { state.withLock { body(&$0) } }

    func client(_ url: String = "https://old.example/parse") throws -> RESTClient {
        // Tests do not wait.
        try RESTClient(
            url: url, applicationId: "app", masterKey: "master", http: PatientHTTP(self, pause: { _ in }))
    }

    func server() async throws -> RESTServer { try await RESTServer.open(try client()) }

    func send(_ request: OutboundRequest) async throws(OutboundFailure) -> OutboundResponse {
        let (status, body, headers) = try answer(request)
        guard body.count <= request.answerBytesMax else {
            throw OutboundFailure(.answerTooLarge, wasNotSent: false)
        }
        return OutboundResponse(status: status, headers: headers, body: body)
    }

    private func answer(
        _ request: OutboundRequest
    ) throws(OutboundFailure) -> (Int, [UInt8], [String: String]) {
        let parts = URLComponents(string: request.url)
        let path = String((parts?.path ?? "").dropFirst("/parse".count))
        let items = (parts?.queryItems ?? []).map { ($0.name, $0.value ?? "") }
        let query = Dictionary(items, uniquingKeysWith: { first, _ in first })
        let mishap: Mishap? = state.withLock { state in
            state.requests.append(path + (parts?.query.map { "?\($0)" } ?? ""))
            return state.mishaps.isEmpty ? nil : state.mishaps.removeFirst()
        }
        switch mishap {
        case .noAnswer(let reason)?: throw OutboundFailure(reason, wasNotSent: false)
        case .answer(let status, let body, let headers)?: return (status, body, headers)
        case nil: break
        }
        guard state.withLock({ $0.refusedPath }) != path else {
            return (403, Array(#"{"error":"unauthorized"}"#.utf8), [:])
        }
        let json: JSON? = state.withLock { state in
            if path == "/schemas" { return ["results": .array(state.schemas)] }
            guard path.hasPrefix("/classes/") else { return state.others[path] }
            return ["results": .array(Self.rows(String(path.dropFirst("/classes/".count)), query, state))]
        }
        guard let json else { return (404, Array(#"{"code":101,"error":"unknown"}"#.utf8), [:]) }
        return (200, json.serialized, [:])
    }

    private static func rows(_ className: String, _ query: [String: String], _ state: State) -> [JSON] {
        let condition = query["where"].flatMap { try? JSON(parsing: $0) } ?? [:]
        let after = condition["objectId"]?["$gt"]?.stringValue ?? ""
        let since = condition["updatedAt"]?["$gte"]?["iso"]?.stringValue ?? ""
        var rows = state.rows[className] ?? []
        if let relation = condition["$relatedTo"], let owner = relation["object"]?.pointerTarget {
            let field = relation["key"]?.stringValue ?? ""
            let ids = state.related["\(owner.className).\(owner.objectId).\(field)"] ?? []
            rows = rows.filter { ids.contains($0["objectId"]?.stringValue ?? "") }
        }
        rows = rows.filter {
            ($0["objectId"]?.stringValue ?? "") > after && ($0["updatedAt"]?.stringValue ?? "") >= since
        }
        rows = Array(rows.prefix(min(Int(query["limit"] ?? "") ?? 100, state.rowsMax)))
        guard query["keys"] == "objectId" else { return rows }
        return rows.map { ["objectId": $0["objectId"] ?? .null] }
    }
}
