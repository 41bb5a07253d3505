import Foundation
import MessageBus
import Messages
import ParseProtocol
import ProcessKit

/// `/operations`: information about the running suite for operators. The router has checked that the caller is one;
/// services are called with the gateway's rights.
struct OperationsController: Sendable {
    let broker: Broker
    let services: ServiceClient
    let federation: Federation
    let registry: HookRegistry
    /// Satchel's functions (`OpenAPIDocument`).
    let ownFunctions: [JSON]
    private let shadow: Shadow?
    private let clerk: BooksClerk
    private let unused: UnusedFunctions
    private let ownName: String
    private let ownReport: ProcessReport
    private let codePath: String
    private let backupLog: BackupLog

    /// The time to wait for a service that does not reply.
    private static let timeout = Duration.seconds(3)

    init(
        broker: Broker, services: ServiceClient, federation: Federation, registry: HookRegistry, functions: [JSON],
        shadow: Shadow?, books: BooksClerk, configuration: GatewayConfiguration
    ) {
        self.broker = broker
        self.services = services
        self.federation = federation
        self.registry = registry
        ownFunctions = functions
        self.shadow = shadow
        clerk = books
        unused = UnusedFunctions(codeReplacesOwn: configuration.cloud.codeReplacesFunctions)
        ownName = configuration.replica
        ownReport = ProcessReport(replica: configuration.replica, settings: configuration.settings)
        let data = configuration.start.dataDirectory
        codePath = configuration.settings.text("satchel.cloud.code", default: data + "/cloud")
        backupLog = BackupLog(path: data + "/backups.log")
    }

    // MARK: - Processes

    /// Settings by service, from one replica each; `names`, separated by commas, selects some. Services that do not
    /// reply are missing.
    func settings(_ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        let asked = try request.options()["names"]?.stringValue
        let names = asked.map { Set($0.split(separator: ",").map(String.init)) }
        let processes = await reports(in: request.call).map { report -> JSON in
            guard let names else { return report }
            var report = report
            let settings = report["settings"]?.arrayValue ?? []
            report["settings"] = .array(settings.filter { names.contains($0["name"]?.stringValue ?? "") })
            return report
        }
        return ParseResponse(["processes": .array(processes)])
    }

    /// Counters run from the start of their process; a reader takes two samples to get rates.
    func metrics(_ request: ParseRequest, _ times: AnswerTimes) async -> ParseResponse {
        let processes = await reports(in: request.call).map { report -> JSON in
            var report = report
            report["settings"] = nil
            return report
        }
        let waiting = await broker.waitingByService
        var all: [String: JSON] = [:]
        for (name, service) in SuiteHealth(broker.services, hasCode: registry.last?.hasCode ?? true).services {
            all[name] = [
                "status": .string(service.state.rawValue), "problem": .string(service.seen.trouble),
                "replicas": .array(service.seen.replicas.map(JSON.string)), "writer": .bool(service.seen.hasWriter),
                "waiting": .int(Int64(waiting[name] ?? 0)), "answers": services.times[name]?.json ?? .null,
            ]
        }
        let sent = await broker.requestsByReplica.mapValues { JSON.int(Int64($0)) }
        return ParseResponse([
            "at": .string(Timestamp.now.iso), "bounds": .array(AnswerTimes.bounds.map(JSON.int)),
            "gateway": ["name": .string(ownName), "answers": times.json], "services": .object(all),
            "processes": .array(processes), "requestsByReplica": .object(sent),
        ])
    }

    /// Where the old server's answers differ, as this gateway counts it.
    func shadowReport() -> ParseResponse {
        var report = shadow?.json ?? [:]
        report["gateway"] = .string(ownName)
        report["isOn"] = .bool(shadow != nil)
        return ParseResponse(report)
    }

    func resetShadow() -> ParseResponse {
        shadow?.reset()
        return ParseResponse([:])
    }

    /// This gateway's last check of the books, and whether one is running.
    func books() -> ParseResponse { ParseResponse(clerk.json) }

    func checkBooks() -> ParseResponse {
        clerk.begin()
        return ParseResponse(clerk.json)
    }

    /// The gateway's report first, then the services' by name.
    private func reports(in context: CallContext) async -> [JSON] {
        let present = broker.services.filter { !$0.value.replicas.isEmpty }.keys
        let answers = await withTaskGroup(of: (String, JSON?).self) { group in
            for name in present { group.addTask { (name, await report(of: name, in: context)) } }
            return await group.reduce(into: [String: JSON]()) { $0[$1.0] = $1.1 }
        }
        var first = ownReport.json
        first["service"] = "gateway"
        return [first]
            + answers.sorted { $0.key < $1.key }.map { name, answer in
                var answer = answer
                answer["service"] = .string(name)
                return answer
            }
    }

    /// Nil when the service does not reply, which health reports.
    private func report(of service: String, in context: CallContext) async -> JSON? {
        let reply = try? await services.send(
            ObjectCalls(of: service).function, FunctionRequest.with { $0.name = ProcessReport.function },
            [Array("{}".utf8)], .ofHooks, context, timeout: Self.timeout)
        return try? reply.map { try JSON(reply: try $0.document, in: context) }
    }

    // MARK: - Cloud code

    /// Satchel's functions and the ones of cloud code. `unused` lists the code's functions that are never called;
    /// `version` is the code's version, where there are versions.
    func functions(_ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        let table = try await registry.table(in: request.call)
        let triggers = table.code.triggers.map { trigger -> JSON in
            ["className": .string(trigger.className), "triggerName": .string(trigger.triggerName)]
        }
        return ParseResponse([
            "own": .array(ownFunctions),
            "code": [
                "functions": .array(table.code.functions.sorted().map(JSON.string)),
                "unused": .array(unused.names(in: table).map(JSON.string)),
                "jobs": .array(table.code.jobs.sorted().map(JSON.string)), "triggers": .array(triggers),
                "version": codeVersion.map(JSON.string) ?? .null,
            ],
        ])
    }

    /// The number of the running version (`scripts/cloud`); nil for code without versions, or when the gateway has no
    /// copy of it.
    private var codeVersion: String? {
        guard let target = try? FileManager.default.destinationOfSymbolicLink(atPath: codePath) else { return nil }
        let name = target.split(separator: "/").last.map(String.init) ?? ""
        return UInt(name) == nil ? nil : name
    }

    /// The runs of `jobName`, or of all jobs; `limit` of them, by default 50.
    /// - Throws: the errors of an object query.
    func jobRuns(_ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        let asked = try request.options()
        var options = try QueryOptions(
            find: asked.filter { $0.key == "limit" }, limitMax: Self.runsMax)
        if asked["limit"] == nil { options.limit = 50 }
        options.order = ["-createdAt"]
        if let name = asked["jobName"]?.stringValue, !name.isEmpty {
            options.filter = JSON.object(["jobName": .string(name)]).serialized
        }
        return ParseResponse(body: try await federation.find("_JobStatus", options, .ofHooks, for: request))
    }

    private static let runsMax = 200

    // MARK: - Config and backups

    func config(_ request: ParseRequest) async throws(ParseError) -> ParseResponse {
        let reply = try await services.read(
            CatalogCalls.config, ConfigRequest(), for: .ofHooks, in: request.call)
        return ParseResponse(body: try reply.document)
    }

    func backups() async -> ParseResponse {
        let backups = await backupLog.entries()
        return ParseResponse(["backups": .array(backups), "now": .string(Timestamp.now.iso)])
    }
}
