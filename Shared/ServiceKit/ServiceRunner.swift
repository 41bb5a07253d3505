import Foundation
import Logging
import MessageBus
import ObjectStore
import ProcessKit

/// Runs a service until SIGTERM or SIGINT. The entry file of a service consists of one call of this.
/// - Parameters:
///   - plan: the description of the service.
///   - build: registers its routes; called once before the first request.
public func runService(
    _ plan: ServicePlan, build: @escaping @Sendable (_ host: ServiceHost, _ routes: inout ServiceRoutes) throws -> Void
) async {
    await runService { (plan, build) }
}

/// As above, for a service whose plan depends on settings that may be invalid.
public func runService(
    _ make:
        @Sendable () throws -> (
            plan: ServicePlan, build: @Sendable (_ host: ServiceHost, _ routes: inout ServiceRoutes) throws -> Void
        )
) async {
    ProcessMemory.keepSmall()
    ProcessStart.setUpLogging()
    EventCounters.setUp()
    do {
        let (plan, build) = try make()
        try await run(plan, build)
    } catch {
        // An error thrown out of `main` would print a trap and a backtrace, which hide the configuration problem.
        Logger(label: "satchel").critical("The service cannot run.", metadata: ["error": "\(error)"])
        exit(error is StartupProblem ? StartupProblem.exitStatus : 1)
    }
}

private func run(
    _ plan: ServicePlan, _ build: @Sendable (_ host: ServiceHost, _ routes: inout ServiceRoutes) throws -> Void
) async throws {
    let configuration = try ServiceConfiguration(service: plan.name)
    let logger = configuration.start.makeLogger(configuration.replica)
    try configuration.start.makeDataDirectory()
    guard !CommandLine.arguments.dropFirst().elementsEqual([ServiceMove.argument]) else {
        return try ServiceMove.run(plan, configuration, logger)
    }
    configuration.start.exportSpans(of: configuration.replica, logger)
    let host = try ServiceHost(plan: plan, configuration: configuration, logger: logger)
    let routes = try ServiceRoutes(host: host, build: build)
    let end = await ProcessEnd.bySignal()
    try await ProcessParts.run([RunningService(host: host, routes: routes)], until: end)
}

/// Ends the process at once, so that the database remains as it is for a repair. Every later start refuses it again.
private func refuse(_ problem: any Error, _ logger: Logger) {
    logger.critical("The service does not open its database.", metadata: ["problem": "\(problem)"])
    _exit(StartupProblem.exitStatus)
}

/// A service from its start to its stop.
private struct RunningService: ProcessPart {
    let host: ServiceHost
    let routes: ServiceRoutes

    /// Time to finish requests. Supervisors kill after 10 s; the rest is for closing the database.
    private static let finishMax = Duration.seconds(8)
    /// Time for actions registered by `whenIdle`, which take milliseconds.
    private static let idleMax = Duration.milliseconds(500)
    /// Time for cancelled background work. Work that must not be lost was awaited before.
    private static let backgroundMax = Duration.seconds(1)
    /// Time for a round trip to the gateway. There may be no gateway.
    private static let goodbyeMax = Duration.seconds(1)
    /// Time for the last round trip to a gateway that answered the first one; the machine may be busy. If a supervisor
    /// kills the process meanwhile, only replies are lost: the database is closed.
    private static let lastRepliesMax = Duration.seconds(2)
    /// The same for a gateway that did not answer.
    private static let unheardMax = Duration.milliseconds(100)

    func run(until end: ProcessEnd) async throws {
        host.whenWriting(host.outbox.work)
        host.background.add(host.parking)
        host.whenStarted(DiskWatch(host: host).work)
        host.whenWriting(QuotaWatch(host: host).work)
        host.whenWriter("replies", every: .seconds(15), problem: "Old replies could not be removed.") { [host] in
            try await host.store.write(for: nil) { try KeyedReplies.prune($0) } ? .more : .idle
        }
        let indexes = try AutomaticIndexes(host: host)
        host.whenWriter("indexes", every: AutomaticIndexes.interval, problem: "An index could not be built.") {
            try await indexes.round()
        }
        host.store.startWriting(
            refused: { refuse($0, host.logger) }, mayWrite: { [host] in host.mayWrite($0) }
        ) { [host] in host.becameWriter() }
        // No request may be answered from a database that is about to be refused.
        while !host.store.isSettled { try? await Task.sleep(for: .milliseconds(5)) }
        do {
            try await host.runOpeningChecks()
        } catch {
            refuse(error, host.logger)
        }
        let load = RunningRequests()
        try await host.bus.start { _ in RouteHandler(routes: routes, reader: try host.store.makeReader(), load: load) }
        host.started()
        host.logger.notice("Ready.", metadata: ["service": "\(host.plan.name)", "release": "\(satchelRelease)"])
        await end.wait()
        // A separate task: its pauses last even if the current task is cancelled.
        await Task { await stop(load) }.value
    }

    /// Accepts nothing new, finishes the running requests, and then releases the writer's lock, or before if the plan
    /// says `yieldsFirst`.
    private func stop(_ load: RunningRequests) async {
        let end = ContinuousClock.now + Self.finishMax
        async let work: Void = host.finish(within: Self.finishMax)
        // After this call no more requests arrive, and `load` counts all earlier ones.
        let isHeard = await host.bus.leave(within: Self.goodbyeMax)
        if host.plan.yieldsFirst { await yieldLock() }
        while !(load.isIdle && host.bus.hasNotifiedGateways), ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(5))
        }
        await work
        await host.endIdle(within: Self.idleMax)
        if !host.plan.yieldsFirst { await yieldLock() }
        // Waits until the gateway has the last replies, even on a busy machine. If a reply is lost, the client does not
        // know whether its change was made.
        await host.bus.leave(within: isHeard ? Self.lastRepliesMax : Self.unheardMax)
        host.bus.stop()
        host.logger.notice("Stopped.")
    }

    /// Ends the writer's work and closes the database.
    private func yieldLock() async {
        await host.background.stop(within: Self.backgroundMax)
        await Self.offThePool { [host] in host.store.stop() }
    }

    /// Runs blocking work, such as closing a database, on its own thread.
    private static func offThePool(_ work: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            Thread.detachNewThread {
                work()
                continuation.resume()
            }
        }
    }
}
