import MessageBus
import ParseProtocol

/// The response of `/health`: each service's state, and whether a load balancer should send requests.
///
/// The suite serves as long as the essential services are healthy. Another missing service is named, and only its
/// functions fail: a stopped crash service must not close the shop. `cloud` counts only when the shop has cloud code.
package struct SuiteHealth {
    package enum State: String {
        case ok
        /// The service has no replica.
        case missing
        /// The service has no writer yet.
        case starting
        /// The service works, and reports that something is missing.
        case degraded
        /// The service reports a failure.
        case failing
    }

    /// The owners of products and every class of the app, and of sign-in and sessions.
    package static let essential: Set<String> = ["catalog", "users"]

    package let services: [String: (state: State, seen: Broker.ServiceState)]
    /// The services whose absence counts.
    private let needed: Set<String>
    private let hasManager: Bool

    /// - Parameters:
    ///   - hasCode: whether there is cloud code, or the gateway does not know.
    ///   - hasManager: false when the process manager was killed.
    package init(_ seen: [String: Broker.ServiceState], hasCode: Bool, hasManager: Bool = true) {
        self.hasManager = hasManager
        needed = Set(ServiceDirectory.services.filter { $0 != "cloud" || hasCode || seen[$0] != nil })
        services = Dictionary(
            uniqueKeysWithValues: ServiceDirectory.services.map { name in
                let service = seen[name] ?? .init()
                return (name, (Self.state(of: service), service))
            })
    }

    private static func state(of service: Broker.ServiceState) -> State {
        if service.replicas.isEmpty { return .missing }
        if !service.problem.isEmpty { return .failing }
        if !service.hasWriter { return .starting }
        return service.warning.isEmpty ? .ok : .degraded
    }

    private func all(_ states: Set<State>, in names: some Sequence<String>) -> Bool {
        names.allSatisfy { services[$0].map { states.contains($0.state) } ?? false }
    }

    /// Whether the essential services work.
    package var isServing: Bool { all([.ok, .degraded], in: Self.essential) }

    /// `ok`; `degraded` when only other services than the essential ones fail; otherwise `failing` or `starting`.
    package var status: String {
        if hasManager, all([.ok], in: needed) { return "ok" }
        if isServing { return "degraded" }
        return Self.essential.contains { services[$0]?.state == .failing } ? "failing" : "starting"
    }

    var body: JSON {
        var members: [String: JSON] = [:]
        for (name, (state, seen)) in services {
            members[name] = [
                "status": .string(state.rawValue), "replicas": .int(Int64(seen.replicas.count)),
                "writer": .bool(seen.hasWriter),
            ]
            if let current = seen.current { members[name]?["current"] = .int(Int64(current.count)) }
            if !seen.trouble.isEmpty { members[name]?["problem"] = .string(seen.trouble) }
        }
        var body: JSON = ["status": .string(status), "services": .object(members)]
        if !hasManager {
            body["problem"] = "The process manager was killed: a service that ends stays away. scripts/up repairs it."
        }
        return body
    }
}

extension ParseResponse {
    /// The suite's health as one gateway sees it.
    init(_ health: SuiteHealth, seenBy gateway: String) {
        var body = health.body
        body["gateway"] = .string(gateway)
        self.init(status: health.isServing ? 200 : 503, body)
        if !health.isServing { retryAfterSeconds = 1 }
    }
}
