import HTTPTypes
import Messages
import ParseProtocol
import Synchronization

/// `/moves`: the data of another server, for the master key. Each service stages the rows of its classes, which no
/// client sees, until the switch makes them visible at once (`scripts/move-in`).
struct MovesController: Sendable {
    let services: ServiceClient
    private let conductor = Conductor()

    init(services: ServiceClient) { self.services = services }

    private static let bodyBytesMax = 4 << 20
    /// Internal classes that another server's data has, besides those that clients can name.
    private static let internalClasses: Set<String> = ["_PushStatus", "_Audience", "_JobStatus", "_JobSchedule"]

    // MARK: Staging

    func stage(
        schemaOf className: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        let definition = JSON.object(try request.object).serialized
        return try await change(.schema, of: className, [:], data: definition, request, principal)
    }

    /// - Throws: `.objectTooLarge` (116) for more than 4 MB; errors of the service about a line.
    func stage(
        rowsOf className: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        guard request.body.count <= Self.bodyBytesMax else {
            throw ParseError(.objectTooLarge, "A request stages at most \(Self.bodyBytesMax >> 20) MB of rows.")
        }
        return try await change(.rows, of: className, [:], data: request.body, request, principal)
    }

    func remove(
        rowsOf className: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        let body = try request.object
        guard let ids = body["ids"]?.arrayValue else { throw ParseError(.invalidJSON, "ids must be an array.") }
        let dropsClass: JSON = body["dropsClass"] ?? false
        guard dropsClass.boolValue != nil else { throw ParseError(.invalidJSON, "dropsClass must be true or false.") }
        let parameters: [String: JSON] = ["ids": .array(ids), "dropsClass": dropsClass]
        return try await change(.removals, of: className, parameters, data: nil, request, principal)
    }

    func list(
        rowsOf className: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        try await list(.list, className, try request.options(), principal, request)
    }

    // MARK: Leaving

    func list(
        membersOf relation: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        guard ImportedRelation(relation) != nil else { throw .invalidClassName(relation) }
        return try await list(.members, relation, try request.options(), principal, request)
    }

    /// A `POST`, so that the read-only key gets no secrets.
    func list(
        secretsOf className: String, _ request: ParseRequest, _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        try await list(.secrets, className, try request.object, principal, request)
    }

    private func list(
        _ verb: MoveVerb, _ className: String, _ options: [String: JSON], _ principal: Principal,
        _ request: ParseRequest
    ) async throws(ParseError) -> ParseResponse {
        let parameters: JSON = [
            "className": .string(className), "after": options["after"] ?? "", "limit": options["limit"] ?? 1000,
        ]
        let lines = try await ask(verb, try owner(className), parameters, principal, request.call)
        var response = ParseResponse(body: lines)
        response.headers[.contentType] = "text/plain; charset=utf-8"
        return response
    }

    /// The service of a class, also of the rows of a relation.
    private func owner(_ className: String) throws(ParseError) -> String {
        let name = ImportedRelation(className)?.className ?? className
        guard Names.isClassName(name) || Self.internalClasses.contains(name) else {
            throw .invalidClassName(className)
        }
        return ServiceDirectory.service(ofClass: name)
    }

    // MARK: State

    /// Users first: the rows of other services belong to them.
    private static let order: [String] = {
        let first = ["users", "catalog", "bag"]
        return first + ServiceDirectory.objectServices.filter { !first.contains($0) }
    }()

    func status(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        // First, because a service that ended may be the last one.
        let isRunning = conductor.isRunning
        var classes: [JSON] = []
        var states: [JSON] = []
        for service in Self.order {
            var state = try await state(of: service, principal, request.call)
            for var staged in state["classes"]?.arrayValue ?? [] {
                staged["service"] = .string(service)
                classes.append(staged)
            }
            state["classes"] = nil
            states.append(state)
        }
        let phases = isRunning ? ["switching"] : states.compactMap { $0["phase"]?.stringValue }
        let phase = ["switching", "failed", "staged", "switched"].first { phases.contains($0) } ?? "empty"
        return ParseResponse([
            "phase": .string(phase), "classes": .array(classes), "services": .array(states),
        ])
    }

    private func state(
        of service: String, _ principal: Principal, _ context: CallContext
    ) async throws(ParseError) -> JSON {
        try JSON(reply: try await ask(.status, service, [:], principal, context), in: context)
    }

    // MARK: The switch

    private static let running = ParseError(.operationForbidden, "The switch is running.")

    /// Starts the switch in each service with staged rows, one after the other. The first failure stops the rest, but
    /// a rehearsal shows the refusals of all.
    /// - Throws: `.operationForbidden` (119) when it is running, or nothing is staged.
    func begin(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        guard let rehearses = try request.object["rehearses"]?.boolValue else {
            throw ParseError(.invalidJSON, "rehearses must be true or false.")
        }
        guard conductor.begin() else { throw Self.running }
        let context = CallContext(trace: request.requestId)
        let waiting: [String]
        do throws(ParseError) {
            waiting = try await stagingServices(principal, request.call)
            // Before the response: from then on no gateway shows an earlier end.
            if let first = waiting.first { try await start(first, rehearses: rehearses, principal, context) }
        } catch {
            conductor.end()
            throw error
        }
        Task {
            for service in waiting {
                if service != waiting.first {
                    try? await start(service, rehearses: rehearses, principal, context)
                }
                let isSwitched = await watch(service, principal, context)
                if !isSwitched, !rehearses { break }
            }
            conductor.end()
        }
        return ParseResponse([:])
    }

    /// The services with staged classes.
    private func stagingServices(
        _ principal: Principal, _ context: CallContext
    ) async throws(ParseError) -> [String] {
        var staging: [String] = []
        for service in Self.order {
            let state = try await state(of: service, principal, context)
            guard state["phase"] != "switching" else { throw Self.running }
            if state["classes"]?.arrayValue?.isEmpty == false { staging.append(service) }
        }
        guard !staging.isEmpty else { throw ParseError(.operationForbidden, "Nothing is staged.") }
        return staging
    }

    private static let pause = Duration.milliseconds(200)
    /// A service that was killed starts again within this time.
    private static let silenceMax = Duration.seconds(60)

    /// Starts the switch of one service. A repeated call, whose first response was lost, finds it running.
    private func start(
        _ service: String, rehearses: Bool, _ principal: Principal, _ context: CallContext
    ) async throws(ParseError) {
        do throws(ParseError) {
            _ = try await change(.begin, service, ["rehearses": .bool(rehearses)], data: nil, principal, context)
        } catch {
            guard error.code == .operationForbidden else { throw error }
        }
    }

    /// Waits for the end of the switch of one service.
    /// - Returns: false unless its rows are visible now.
    private func watch(_ service: String, _ principal: Principal, _ context: CallContext) async -> Bool {
        var heard = ContinuousClock.now
        while heard > .now - Self.silenceMax {
            try? await Task.sleep(for: Self.pause)
            guard let state = try? await state(of: service, principal, context) else { continue }
            heard = .now
            if state["phase"] != "switching" { return state["phase"] == "switched" }
        }
        return false
    }

    /// Drops everything that is staged.
    /// - Throws: `.operationForbidden` (119) while the switch is running, and after it.
    func undo(_ request: ParseRequest, _ principal: Principal) async throws(ParseError) -> ParseResponse {
        guard !conductor.isRunning else { throw Self.running }
        for service in try await stagingServices(principal, request.call) {
            _ = try await change(.undo, service, [:], data: nil, principal, request.call)
        }
        return ParseResponse([:])
    }

    /// Whether a switch of this gateway is running.
    private final class Conductor: Sendable {
        private let running = Mutex(false)

        var isRunning: Bool { running.withLock { $0 } }

        /// False while it is running.
        func begin() -> Bool {
            running.withLock { isRunning in
                guard !isRunning else { return false }
                isRunning = true
                return true
            }
        }

        func end() { running.withLock { $0 = false } }
    }

    // MARK: Calls

    /// A service with much to write answers late.
    private static let timeout = Duration.seconds(120)

    private func change(
        _ verb: MoveVerb, of className: String, _ more: [String: JSON], data: [UInt8]?, _ request: ParseRequest,
        _ principal: Principal
    ) async throws(ParseError) -> ParseResponse {
        let parameters = more.merging(["className": .string(className)]) { $1 }
        let answer = try await change(
            verb, try owner(className), .object(parameters), data: data, principal, request.call)
        return ParseResponse(body: answer)
    }

    /// A repetition after the end of a process changes nothing more.
    private func change(
        _ verb: MoveVerb, _ service: String, _ parameters: JSON, data: [UInt8]?, _ principal: Principal,
        _ context: CallContext
    ) async throws(ParseError) -> [UInt8] {
        let documents = [parameters.serialized] + (data.map { [$0] } ?? [])
        return try await services.write(
            ObjectCalls(of: service).move, .with { $0.name = verb.rawValue }, documents: documents, for: principal,
            in: context, timeout: Self.timeout
        ).document
    }

    /// Asks the writer, which alone knows of a running switch.
    private func ask(
        _ verb: MoveVerb, _ service: String, _ parameters: JSON, _ principal: Principal, _ context: CallContext
    ) async throws(ParseError) -> [UInt8] {
        try await services.send(
            ObjectCalls(of: service).move, .with { $0.name = verb.rawValue }, [parameters.serialized], principal,
            context, writes: true
        ).document
    }
}
