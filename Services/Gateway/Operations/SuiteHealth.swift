import MessageBus
import ParseProtocol

/// The answer of `/health`: each service's state, and whether a load balancer should send customers here.
///
/// It should as long as those services are well without which nothing works. Any other service that is missing is
/// named, and only its own functions are missed: a stopped crash service must not close the shop. `cloud` is missed
/// only where there is code for it.
package struct SuiteHealth {
    package enum State: String {
        case ok
        /// It has no replica.
        case missing
        /// It has no writer yet.
        case starting
        /// It serves, and says itself what is missing.
        case degraded
        /// It says itself what is wrong.
        case failing
    }

    /// Products and every class of the app; sign-in and sessions.
    package static let essential: Set<String> = ["catalog", "users"]

    package let services: [String: (state: State, seen: Broker.ServiceState)]
    /// The services that somebody misses when they are not there.
    private let needed: Set<String>

    /// - Parameter hasCode: whether there is cloud code, or nobody knows.
    package init(_ seen: [String: Broker.ServiceState], hasCode: Bool) {
        needed = Set(ServiceDirectory.services.filter { $0 != "cloud" || hasCode || seen[$0] != nil })
        services = Dictionary(
            uniqueKeysWithValues: ServiceDirectory.services.map { name in
                let service = seen[name] ?? .init()
                return (name, (Self.state(of: service), service))
            })
    }

    private static func state(of service: Broker.ServiceState) -> State {
        if service.replicas.isEmpty { return .missing }
        if !service.hasWriter { return .starting }
        if !service.problem.isEmpty { return .failing }
        return service.warning.isEmpty ? .ok : .degraded
    }

    private func all(_ states: Set<State>, in names: some Sequence<String>) -> Bool {
        names.allSatisfy { services[$0].map { states.contains($0.state) } ?? false }
    }

    /// Whether customers are served.
    package var isServing: Bool { all([.ok, .degraded], in: Self.essential) }

    /// `ok`, `degraded` when something is missing that is not essential; else `failing` or `starting`.
    package var status: String {
        if all([.ok], in: needed) { return "ok" }
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
        return ["status": .string(status), "services": .object(members)]
    }
}

extension ParseResponse {
    /// The suite's health as a gateway sees it.
    init(_ health: SuiteHealth, seenBy gateway: String) {
        var body = health.body
        body["gateway"] = .string(gateway)
        self.init(status: health.isServing ? 200 : 503, body)
        if !health.isServing { retryAfterSeconds = 1 }
    }
}
