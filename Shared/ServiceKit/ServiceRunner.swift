import Foundation
import Logging
import MessageBus
import ObjectStore
import ProcessKit

/// Runs a service until SIGTERM or SIGINT: the whole of a service's entry file is one call of this.
/// - Parameters:
///   - plan: what the service is.
///   - build: registers its routes; called once before the first request.
public func runService(
    _ plan: ServicePlan, build: @escaping @Sendable (_ host: ServiceHost, _ routes: inout ServiceRoutes) throws -> Void
) async {
    await runService { (plan, build) }
}

/// As above, for a service whose plan depends on settings that may be wrong.
public func runService(
    _ make:
        @Sendable () throws -> (
            plan: ServicePlan, build: @Sendable (_ host: ServiceHost, _ routes: inout ServiceRoutes) throws -> Void
        )
) async {
    ProcessMemory.keepSmall()
    ProcessStart.setUpLogging()
    do {
        let (plan, build) = try make()
        try await run(plan, build)
    } catch {
        // Thrown out of `main` it would end in a trap and a backtrace, which hide what is wrong with the configuration.
        Logger(label: "satchel").critical("The service cannot run.", metadata: ["error": "\(error)"])
        exit(1)
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
    let host = try ServiceHost(plan: plan, configuration: configuration, logger: logger)
    let routes = try ServiceRoutes(host: host, build: build)
    let end = await ProcessEnd.bySignal()
    try await ProcessParts.run([RunningService(host: host, routes: routes)], until: end)
}

/// Ends the process at once: what is left of the database must stay as it is for whoever repairs it, and whoever starts
/// the service again gets the same answer.
private func refuse(_ problem: any Error, _ logger: Logger) {
    logger.critical("The service does not open its database.", metadata: ["problem": "\(problem)"])
    _exit(1)
}

/// A service from its first message to its last.
private struct RunningService: ProcessPart {
    let host: ServiceHost
    let routes: ServiceRoutes

    /// Supervisors kill after 10 s. What is under way gets most of it, the rest is for closing the database.
    private static let finishMax = Duration.seconds(8)
    /// What is ended when nothing needs it any more: that takes milliseconds.
    private static let idleMax = Duration.milliseconds(500)
    /// Background work that is told to end; what is worth more than that was waited for before.
    private static let backgroundMax = Duration.seconds(1)
    /// A round trip to the gateway. There may be none.
    private static let goodbyeMax = Duration.seconds(1)
    /// The same at the end, on a machine that is busy, with a gateway that was there a moment ago. A supervisor that
    /// kills meanwhile harms nothing but the answers: the database is closed.
    private static let lastAnswersMax = Duration.seconds(2)
    /// The same with one that has said nothing.
    private static let unheardMax = Duration.milliseconds(100)

    func run(until end: ProcessEnd) async throws {
        host.whenWriting(host.outbox.work)
        host.whenWriting(DiskWatch(host: host).work)
        host.whenWriter("replies", every: .seconds(15), problem: "Old replies could not be removed.") { [host] in
            try await host.store.write { try KeyedReplies.prune($0) } ? .more : .idle
        }
        let indexes = try AutomaticIndexes(host: host)
        host.whenWriter("indexes", every: AutomaticIndexes.interval, problem: "An index could not be built.") {
            try await indexes.round()
        }
        host.store.startWriting(
            refused: { refuse($0, host.logger) }, mayWrite: { [host] in host.mayWrite($0) }
        ) { [host] in host.becameWriter() }
        // Nothing is answered from a database that is about to be refused.
        while !host.store.isSettled { try? await Task.sleep(for: .milliseconds(5)) }
        do {
            try await host.lookAtOpening()
        } catch {
            refuse(error, host.logger)
        }
        let load = RequestLoad()
        try await host.bus.start { _ in RouteHandler(routes: routes, reader: try host.store.makeReader(), load: load) }
        host.started()
        host.logger.notice("Ready.", metadata: ["service": "\(host.plan.name)", "release": "\(satchelRelease)"])
        await end.wait()
        // A task of its own, in which pauses last although this one may be cancelled.
        await Task { await stop(load) }.value
    }

    /// Takes nothing new, finishes what is under way, and only then gives the writer's lock to the next, unless the
    /// plan says otherwise.
    private func stop(_ load: RequestLoad) async {
        let end = ContinuousClock.now + Self.finishMax
        async let work: Void = host.finish(within: Self.finishMax)
        // After this no request comes any more: all that came are counted.
        let isHeard = await host.bus.leave(within: Self.goodbyeMax)
        if host.plan.yieldsFirst { await yieldLock() }
        while !(load.isIdle && host.bus.hasToldGateways), ContinuousClock.now < end {
            try? await Task.sleep(for: .milliseconds(5))
        }
        await work
        await host.endIdle(within: Self.idleMax)
        if !host.plan.yieldsFirst { await yieldLock() }
        // Until the gateway has the last answers, however long either of us waits for a processor: of a change whose
        // answer is lost nobody knows whether it was made.
        await host.bus.leave(within: isHeard ? Self.lastAnswersMax : Self.unheardMax)
        host.bus.stop()
        host.logger.notice("Stopped.")
    }

    /// Ends what only the writer does, and closes the database.
    private func yieldLock() async {
        await host.background.stop(within: Self.backgroundMax)
        await Self.offThePool { [host] in host.store.stop() }
    }

    /// Runs what blocks, as closing a database does, on a thread of its own.
    private static func offThePool(_ work: @escaping @Sendable () -> Void) async {
        await withCheckedContinuation { (continuation: CheckedContinuation<Void, Never>) in
            Thread.detachNewThread {
                work()
                continuation.resume()
            }
        }
    }
}
