import Foundation
import Logging
import MessageBus
import Messages
import ObjectStore
import ParseProtocol
import ProcessKit
import ServiceKit
import SwiftProtobuf
import Synchronization
import TestSupport

/// A test's own bus: a broker, and services assembled as `runService` does it.
final class BusBench: Sendable {
    let broker: Broker
    private let configuration: BusConfiguration
    private let folder: String
    private let hosts = Mutex<[ServiceHost]>([])
    private let deliveries = Mutex<[Task<Void, Never>]>([])
    private let silent = Mutex<[BusEndpoint]>([])

    /// Discards log messages, because these tests cause failures on purpose.
    private static let logger: Logger = {
        var logger = Logger(label: "bus-bench")
        logger.logLevel = .critical
        return logger
    }()

    private init() async throws {
        // A socket's path is limited to 107 bytes.
        folder = "/tmp/satchel-bench-\(Names.random(10))"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
        configuration = try BusConfiguration(endpoint: "ipc://\(folder)/bus.ipc")
        broker = try Broker(configuration: configuration, logger: Self.logger)
        try await broker.start()
    }

    static func with(_ body: (BusBench) async throws -> Void) async throws {
        let bench = try await BusBench()
        defer { bench.stop() }
        try await body(bench)
    }

    // MARK: Services

    /// Starts a service and returns once the broker knows it as the writer. A service with a former name finds the data
    /// of the earlier one.
    @discardableResult
    func start(
        _ plan: ServicePlan, _ build: (_ host: ServiceHost, _ routes: inout ServiceRoutes) throws -> Void = { _, _ in }
    ) async throws -> ServiceHost {
        let settings = Settings([
            "SATCHEL_DATA": folder, "SATCHEL_REPLICA": "\(plan.name)-\(Names.random(6))",
            "SATCHEL_BUS": configuration.endpoint, "SATCHEL_LANES": "1",
        ])
        let host = try ServiceHost(
            plan: plan, configuration: ServiceConfiguration(service: plan.name, settings: settings),
            logger: Self.logger)
        let routes = try ServiceRoutes(host: host, build: build)
        hosts.withLock { $0.append(host) }
        await withCheckedContinuation { started in host.store.startWriting { started.resume() } }
        let load = RunningRequests()
        try await host.bus.start { _ in
            RouteHandler(routes: routes, reader: try host.store.makeReader(), load: load)
        }
        host.bus.setWriter(true)
        try await eventually("\(plan.name) writes") { broker.services[plan.name]?.hasWriter == true }
        return host
    }

    /// Starts a replica that records its requests and never answers.
    func startSilent(_ service: String, _ inbox: Inbox) async throws -> BusEndpoint {
        let endpoint = try BusEndpoint(
            configuration: configuration, service: service, replica: "\(service)-silent", release: "test",
            laneCount: 1, logger: Self.logger)
        silent.withLock { $0.append(endpoint) }
        try await endpoint.start { _ in Silence(inbox) }
        endpoint.setWriter(true)
        try await eventually("\(service) is there") { broker.services[service]?.hasWriter == true }
        return endpoint
    }

    /// Delivers the service's outbox, as its writer does.
    func deliver(_ host: ServiceHost) {
        let delivery = Task { await host.outbox.work.run() }
        deliveries.withLock { $0.append(delivery) }
    }

    /// Ends a service without a goodbye and returns once the broker has noticed.
    func end(_ host: ServiceHost) async throws {
        hosts.withLock { hosts in hosts.removeAll { $0 === host } }
        await host.background.stop(within: .seconds(1))
        host.bus.stop()
        host.store.stop()
        let (service, replica) = (host.plan.name, host.configuration.replica)
        try await eventually("\(replica) is gone") {
            !(broker.services[service]?.replicas ?? []).contains(replica)
        }
    }

    private func stop() {
        for delivery in deliveries.withLock({ $0 }) { delivery.cancel() }
        for endpoint in silent.withLock({ $0 }) { endpoint.stop() }
        for host in hosts.withLock({ $0 }) {
            host.bus.stop()
            host.store.stop()
        }
        broker.stop()
        try? FileManager.default.removeItem(atPath: folder)
    }

    // MARK: Requests

    /// Calls a service as the gateway does.
    /// - Parameter key: makes the call a repeatable write; nil for a read.
    /// - Throws: `BusFailure`, the service's answer.
    @discardableResult
    func ask(
        _ kind: String, _ message: some Message, key: String? = nil, documents: [[UInt8]] = [],
        as principal: Principal = .satchel, budget: RequestBudget? = nil
    ) async throws -> BusReply {
        var request = BusRequest(kind: kind, body: try message.serializedBytes(), timeout: .seconds(30))
        request.documents = documents
        request.principal = principal
        request.budget = budget
        if let key {
            request.writes = true
            request.idempotencyKey = key
        }
        return try await broker.call(request)
    }

    private final class Silence: LaneHandler {
        private let inbox: Inbox
        init(_ inbox: Inbox) { self.inbox = inbox }
        func handle(_ request: ServiceRequest) { inbox.note(request) }
    }
}

extension ServiceHost {
    /// The first column of the first row.
    func number(_ sql: String) async throws -> Int64 {
        try await store.read { try $0.rows(sql).first?.int(0) ?? 0 }
    }
}

extension StoreReader {
    /// A read that takes some hundred milliseconds of processor time, many times a lane's slice. Its time limit is long
    /// enough even if the store's readers get little processor time next to other tests.
    func ponder() throws -> Int64 {
        timeLimit = .seconds(100)
        return try rows(
            """
            WITH RECURSIVE numbers(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers WHERE n < 1000000)
            SELECT max(n) FROM numbers
            """
        ).first?.int(0) ?? 0
    }
}
