import Foundation
import NIOHTTP1
import ParseProtocol
import TestSupport

/// The ways in which the same request can reach a route. A check must apply to all of them.
enum Way: String, CaseIterable, Sendable {
    /// Headers and real verbs.
    case plain
    /// `POST` with `text/plain`, verb and credentials in the body.
    case tunnelled
    /// The only request of a batch.
    case batched
    /// Under hosted Parse's path.
    case hosted
}

/// The outcome of a request, however it was sent.
struct Outcome {
    let isSuccess: Bool
    /// The HTTP status, in a batch of the whole batch.
    let status: Int
    let json: JSON
    let text: String

    var code: Int? { json["code"]?.intValue.map(Int.init) }
}

extension ParseClient {
    /// Sends a request in the given way.
    /// - Parameters:
    ///   - path: relative to the mount; already percent-encoded.
    ///   - options: query options; in a batch they are sent as the body of the GET.
    func go(
        _ way: Way, _ method: HTTPMethod, _ path: String, _ body: JSON? = nil, options: [String: JSON] = [:]
    ) async throws -> Outcome {
        var client = self
        switch way {
        case .plain: break
        case .tunnelled: client.style = .tunnelled
        case .hosted: client.url = url.replacingOccurrences(of: "/parse", with: "/1")
        case .batched:
            var item: JSON = ["method": .string(method.rawValue), "path": .string("/parse" + path)]
            if let body { item["body"] = body }
            if !options.isEmpty { item["body"] = .object(options) }
            let answer = try await call(.POST, "/batch", ["requests": [item]])
            let success = answer.json.at(0, "success")
            return Outcome(
                isSuccess: success != nil, status: answer.status,
                json: success ?? answer.json.at(0, "error") ?? answer.json, text: answer.text)
        }
        let answer = try await client.call(method, path, body, options: options)
        return Outcome(
            isSuccess: (200..<300).contains(answer.status), status: answer.status, json: answer.json, text: answer.text)
    }
}

extension Suite {
    /// The process ids of all replicas. If they are the same after an attack, no process was restarted.
    func pulse() async throws -> [String: pid_t] {
        let health = try await ParseClient(self).get("/health")
        guard health.status == 200, let services = health["services"]?.objectValue else {
            throw Unexpected("GET health", health)
        }
        var pulse: [String: pid_t] = [:]
        for name in ["gateway"] + services.keys { pulse["\(name)-1"] = processId(of: "\(name)-1") }
        return pulse
    }
}
