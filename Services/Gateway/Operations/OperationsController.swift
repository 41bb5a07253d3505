import Books
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
    private let audits: BookAuditRunner
    private let unused: UnusedFunctions
    private let ownName: String
    private let ownReport: ProcessReport
    private let codePath: String
    private let backupLog: BackupLog

    /// The time to wait for a service that does not reply.
    private static let timeout = Duration.seconds(3)

    init(
        broker: Broker, services: ServiceClient, federation: Federation, registry: HookRegistry, functions: [JSON],
        shadow: Shadow?, books: BookAuditRunner, configuration: GatewayConfiguration
    ) {
        self.broker = broker
        self.services = services
        self.federation = federation
        self.registry = registry
        ownFunctions = functions
        self.shadow = shadow
        audits = books
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
            var report = report
            report["figures"] = nil
            guard let names else { return report }
            let settings = report["settings"]?.arrayValue ?? []
            report["settings"] = .array(settings.filter { names.contains($0["name"]?.stringValue ?? "") })
            return report
        }
        return ParseResponse(["processes": .array(processes)])
    }

    /// The figures of the suite, as this gateway sees it.
    func figures(in context: CallContext) async -> SuiteFigures {
        SuiteFigures(
            health: SuiteHealth(broker.services, hasCode: registry.last?.hasCode ?? true),
            waiting: await broker.waitingByService, sent: await broker.requestsByReplica,
            lanes: await broker.lanesByService, unanswered: await broker.unansweredByService,
            calls: services.times.parts,
            reports: await reports(ofEachReplica: true, in: context).map { report in
                var report = report
                report["settings"] = nil
                return report
            })
    }

    /// Counters run from the start of their process; a reader takes two samples to get rates.
    func metrics(_ request: ParseRequest, _ times: RouteTimes) async -> ParseResponse {
        let figures = await figures(in: request.call)
        var all: [String: JSON] = [:]
        for (name, service) in figures.health.services {
            all[name] = [
                "status": .string(service.state.rawValue), "problem": .string(service.seen.trouble),
                "replicas": .array(service.seen.replicas.map(JSON.string)), "writer": .bool(service.seen.hasWriter),
                "waiting": .int(Int64(figures.waiting[name] ?? 0)),
                "answers": ServiceTimes.json(of: name, in: figures.calls),
            ]
        }
        return ParseResponse([
            "at": .string(Timestamp.now.iso), "bounds": .array(ResponseTimes.bounds.map(JSON.int)),
            "gateway": ["name": .string(ownName), "answers": times.json], "services": .object(all),
            "processes": .array(figures.reports),
            "requestsByReplica": .object(figures.sent.mapValues { .int(Int64($0)) }),
        ])
    }

    /// Where the old server's responses differ, as this gateway counts it.
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
    func books() -> ParseResponse {
        var books = audits.json
        books["gateway"] = .string(ownName)
        return ParseResponse(books)
    }

    var bookReport: BookReport? { audits.report }

    func checkBooks() -> ParseResponse {
        audits.begin()
        return books()
    }

    /// The gateway's report first, then the services' by name.
    /// - Parameter ofEachReplica: else of one replica of each service.
    private func reports(ofEachReplica: Bool = false, in context: CallContext) async -> [JSON] {
        let answers = await withTaskGroup(of: JSON?.self) { group in
            for (name, service) in broker.services {
                for replica in service.replicas.prefix(ofEachReplica ? .max : 1) {
                    group.addTask { await report(of: name, ofEachReplica ? replica : nil, in: context) }
                }
            }
            // By replica: another one answers for a replica that has just left.
            return await group.reduce(into: [String: JSON]()) { answers, answer in
                if let answer, let name = answer["replica"]?.stringValue { answers[name] = answer }
            }
        }
        var first = ownReport.json
        first["service"] = "gateway"
        return [first] + answers.sorted { $0.key < $1.key }.map(\.value)
    }

    /// Nil when the service does not reply, which health reports.
    private func report(of service: String, _ replica: String?, in context: CallContext) async -> JSON? {
        let reply = try? await services.send(
            ObjectCalls(of: service).function, FunctionRequest.with { $0.name = ProcessReport.function },
            [Array("{}".utf8)], .ofHooks, context, timeout: Self.timeout, replica: replica)
        guard var report = try? reply.map({ try JSON(reply: try $0.document, in: context) }) else { return nil }
        report["service"] = .string(service)
        return report
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

/// The figures of all processes, and of the bus between them.
struct SuiteFigures {
    let health: SuiteHealth
    /// Requests that wait for a lane, by service.
    let waiting: [String: Int]
    /// Requests sent to each replica since it joined.
    let sent: [String: Int]
    /// By service.
    let lanes: [String: Int]
    /// Requests that lanes work on, by service.
    let unanswered: [String: Int]
    let calls: [ServiceTimes.Part]
    /// Of the gateway and of each replica (`ProcessReport`).
    let reports: [JSON]
}
