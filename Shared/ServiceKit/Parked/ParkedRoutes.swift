import MessageBus
import Messages
import ObjectStore
import ParseProtocol

extension ServiceRoutes {
    /// Adds a kind of work that the service parks when it is refused for good.
    public mutating func park(_ kind: ParkedKind) { parkedKinds.append(kind) }

    /// Lists, retries and drops parked work (`ParkedVerb`), in every service.
    mutating func installParked() {
        let parked = Parked(host: host, kinds: parkedKinds)
        task(framed: ObjectCalls(of: host.plan.name).parked) { message, request in
            guard let verb = ParkedVerb(rawValue: message.name) else { throw ParseError(.invalidJSON, "Unknown verb.") }
            return try await parked.answer(verb, request)
        }
    }
}

/// Answers calls about the parked work of a service.
struct Parked: Sendable {
    let host: ServiceHost
    let kinds: [ParkedKind]

    /// Items of a kind in one reply.
    private static let listedMax: Int64 = 100
    private static let idBytesMax = 1000

    func answer(_ verb: ParkedVerb, _ request: ServiceRequest) async throws -> BusReply {
        switch verb {
        case .list: try await list(request)
        case .retry: try await change("retryParked", request, by: { $0.areas }, { $0.retry })
        case .drop: try await change("dropParked", request, by: { $0.dropAreas }, { $0.drop })
        }
    }

    private func list(_ request: ServiceRequest) async throws -> BusReply {
        let mine = kinds.filter { request.envelope.principal.runs($0.areas) }
        let (items, counts) = try await host.store.read(for: request.share) { reader in
            let items = try mine.flatMap { kind in
                try kind.list(Self.listedMax, reader).map { $0.json(kind.name) }
            }
            return (items, try mine.parkedCounts(in: reader))
        }
        return try .result(["items": .array(items), "counts": .object(counts)])
    }

    private func change(
        _ action: String, _ request: ServiceRequest, by areas: @Sendable (ParkedKind) -> [OperatorArea],
        _ work: @escaping @Sendable (ParkedKind) -> ParkedKind.Change
    ) async throws -> BusReply {
        let parameters = try request.document()
        guard let kind = kinds.first(where: { $0.name == parameters["kind"]?.stringValue }) else {
            throw ParseError(
                .validationError, "kind must be one of \(kinds.map(\.name).sorted().joined(separator: ", ")).")
        }
        guard request.envelope.principal.runs(areas(kind)) else {
            throw ParseError(.operationForbidden, Self.forbidden)
        }
        guard let id = try parameters.textParameter("id", bytesMax: Self.idBytesMax) else {
            throw ParseError(.validationError, "id is needed.")
        }
        return try await host.commit(request) { [audit = host.audit] transaction in
            guard let item = try work(kind)(id, transaction) else { throw ParseError.objectNotFound }
            let before: JSON = [
                "kind": .string(kind.name), "about": .string(item.about), "reason": .string(item.reason),
            ]
            try audit.note(.init(action, "", id, before: before), by: request, in: transaction)
            return try .result([:])
        }
    }

    private static let forbidden = "Only members of the role \(adminsRole) may do this."
}

extension [ParkedKind] {
    /// The number of parked items by kind.
    func parkedCounts(in reader: StoreReader) throws -> [String: JSON] {
        var counts: [String: JSON] = [:]
        for kind in self { counts[kind.name] = .int(try kind.count(reader)) }
        return counts
    }
}
