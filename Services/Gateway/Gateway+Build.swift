import Foundation
import Logging
import MessageBus
import Messages
import Outbound
import ProcessKit
import Synchronization

/// Wires the gateway and runs it until SIGTERM or SIGINT.
func runGateway() async throws {
    ProcessStart.setUpLogging()
    EventCounters.setUp()
    ProcessMemory.keepSmall()
    let configuration = try GatewayConfiguration()
    let logger = configuration.start.makeLogger(configuration.replica)
    let exporter = configuration.start.exportSpans(of: configuration.replica, logger)

    if configuration.cloud.codeReplacesFunctions {
        logger.warning("Functions of cloud code replace Satchel's functions of the same name.")
    }

    if configuration.cloud.bundleIds.isEmpty {
        logger.notice("In-app purchases are refused: SATCHEL_APPLE_BUNDLE_IDS names no app.")
    }
    if configuration.cloud.takesSandboxReceipts {
        logger.warning("Sandbox receipts, which cost nothing, unlock files: SATCHEL_APPLE_SANDBOX_RECEIPTS is on.")
    }

    let leases = GatewayLeases()
    let sessions = SessionCache(lease: leases.sessions)
    let cache = ReadCache(configuration)
    let hasPages = configuration.servesDashboard || configuration.servesStorefront
    let site = hasPages ? WebSite(configuration, logger: logger) : nil
    let invalidations = LiveInvalidationRelay()
    let traffic = BusTraffic()
    let hookCache = HookCache(lease: leases.hooks)
    let broker = try Broker(
        configuration: configuration.bus, logger: logger,
        onForget: {
            sessions.forget($0)
            invalidations.forget($0)
            if $0.hooks { hookCache.forget() }
        },
        leases: leases.all,
        onInvalidation: { forget, isGap, done in
            sessions.forget(forget)
            if forget.hooks { hookCache.forget() }
            invalidations.forget(forget, isGap: isGap, done)
        },
        onStates: {
            cache?.servicesChanged($0)
            site?.servicesChanged($0)
        }, onBatchEnd: { traffic.deliver() })
    let services = ServiceClient(broker: broker)
    let meter = RequestMeter()
    let books = BookAuditRunner(ServiceBookSource(services: services), logger: logger)
    let shadow = Shadow(configuration, logger: logger)
    let outbound = OutboundClient(authorities: configuration.cloud.authorities)
    let readiness = GatewayReadiness(name: configuration.replica)
    let unused = UnusedFunctions(codeReplacesOwn: configuration.cloud.codeReplacesFunctions)
    let hooks = HookScopes(
        registry: HookRegistry(
            cache: hookCache, services: services, unused: UnusedFunctionsLog(unused, logger: logger)),
        webhooks: Webhooks(
            client: outbound, links: configuration.fileLinks, settings: configuration.cloud, logger: logger))
    let admission = Admission(
        settings: configuration.admission, masterKey: configuration.masterKey, services: services)
    let principals = PrincipalResolver(configuration: configuration, sessions: sessions, services: services)
    let bodies = BodyReader(configuration.capacity)
    let bodyQueues = BodyQueues(share: configuration.capacity.largeBodyShare)
    let hub = LiveHub(
        access: LiveAccess(
            settings: configuration.live, principals: principals, admission: admission, hooks: hooks.registry,
            leases: leases),
        triggers: LiveTriggers(scopes: hooks, links: configuration.fileLinks),
        decoder: LiveDecoder(bodies: bodies, queues: bodyQueues), broker: broker, links: configuration.fileLinks,
        replica: configuration.replica, logger: logger)
    invalidations.set(hub)
    let gate = ConnectionGate(configuration.capacity, proxies: configuration.admission.trustedProxies)
    let controllers = try Controllers(
        configuration, readiness, broker, services, cache, site, hooks.registry, hub, gate, outbound, shadow, books,
        logger)
    let router = ParseRouter(
        configuration: configuration, admission: admission, principals: principals, hooks: hooks,
        controllers: controllers, meter: meter, logger: logger)
    let figures = FigureRecorder(
        operations: controllers.operations, hub: hub, times: meter.times, gateway: configuration.replica,
        every: configuration.figuresEvery, logger: logger)

    let answers = configuration.capacity.answers()
    let front = HTTPFront(
        router: router, configuration: configuration, bodies: bodies, bodyQueues: bodyQueues, answers: answers,
        traffic: traffic, shadow: shadow, logger: logger)
    // The parts stop in reverse order: after drain and hub the server, which finishes the requests in flight, then the
    // reporter, then the broker.
    try await ProcessParts.run(
        [
            BrokerLife(broker: broker, code: CodeRequests(router: router, answers: answers)),
            RequestReporter(meter: meter, services: services, logger: logger),
            books, figures,
            server(front, gate, configuration, hub, router.mount, logger),
            // Stops before the server, because its streams have no end.
            hub,
            // Stops first: the gateway refuses no request before the balancer has noticed.
            GatewayDrain(readiness: readiness, duration: configuration.drain, logger: logger),
        ], until: await ProcessEnd.bySignal())
    await exporter?.export(timeout: SpanExporter.lastTimeout)
}

private func server(
    _ front: HTTPFront, _ gate: ConnectionGate, _ configuration: GatewayConfiguration, _ hub: LiveHub, _ mount: Mount,
    _ logger: Logger
) -> HTTPServer {
    // All connections share it.
    let makeUpgrade: @Sendable () -> LiveUpgrade = { LiveUpgrade(hub, configuration, mount) }
    return HTTPServer(
        address: configuration.address, logger: logger, url: "\(configuration.publicURL)",
        handlers: { [ConnectionGuard(gate, makeUpgrade: makeUpgrade)] }, front: front)
}

extension Controllers {
    /// - Throws: when a part of the OpenAPI document is unusable.
    fileprivate init(
        _ configuration: GatewayConfiguration, _ readiness: GatewayReadiness, _ broker: Broker,
        _ services: ServiceClient, _ cache: ReadCache?, _ site: WebSite?, _ registry: HookRegistry, _ hub: LiveHub,
        _ gate: ConnectionGate, _ outbound: OutboundClient, _ shadow: Shadow?, _ books: BookAuditRunner,
        _ logger: Logger
    ) throws {
        let cloud = configuration.cloud
        let federation = Federation(services: services, limitMax: configuration.limitMax)
        let objects = ObjectsController(
            services: services, federation: federation, configuration: configuration, cache: cache,
            openClasses: OpenClasses(boards: cache))
        let accounts = AccountsController(services: services, configuration: configuration, cache: cache)
        let files = FileCache(configuration, boards: cache)
        let document = try OpenAPIDocument(
            routes: RouteTable.mounted.routes, outside: RouteTable.outside.routes, publicURL: configuration.publicURL)
        let system = SystemController(
            readiness: readiness, broker: broker, cache: cache, files: files, hooks: registry.cache,
            codeFile: configuration.cloud.codeFile, document: document)
        let operations = OperationsController(
            broker: broker, services: services, federation: federation, registry: registry,
            functions: document.functions, shadow: shadow, books: books, configuration: configuration)
        self.init(
            objects: objects,
            aggregates: AggregateController(services: services, federation: federation),
            schemas: SchemasController(services: services),
            accounts: accounts,
            functions: FunctionsController(services: services, codeReplacesOwn: cloud.codeReplacesFunctions),
            jobs: JobsController(services: services, objects: objects),
            hooks: HooksController(registry: registry, services: services),
            files: FilesController(services: services, configuration: configuration, cache: files),
            pictures: PicturesController(services: services, configuration: configuration, cache: files),
            exports: ExportController(
                services: services, federation: federation, capacity: configuration.capacity),
            imports: ImportController(objects: objects, services: services),
            moves: MovesController(services: services),
            push: PushController(services: services, objects: objects, federation: federation),
            purchases: PurchaseController(
                store: AppStore(client: outbound, settings: cloud, logger: logger), services: services,
                links: configuration.fileLinks, signer: configuration.fileSigner),
            stripeWebhook: StripeWebhookController(services: services),
            events: EventsController(services: services),
            sentry: SentryController(services: services),
            pages: PagesController(accounts: accounts, configuration: configuration),
            site: site,
            storefront: configuration.servesStorefront
                ? StorefrontController(services: services, configuration: configuration, cache: cache) : nil,
            config: ConfigController(services: services),
            live: LiveController(hub: hub),
            logs: LogController(directory: cloud.logDirectory, secrets: LogSecrets(configuration.secrets)),
            security: SecurityController(
                configuration: configuration, settings: cloud, services: services, broker: broker, registry: registry),
            system: system, operations: operations,
            metrics: MetricsController(
                access: MetricsAccess(token: configuration.admission.metricsToken), operations: operations,
                system: system, hub: hub, gate: gate),
            parked: ParkedController(broker: broker, services: services),
            mails: MailController(services: services))
    }
}

/// Passes the broker's session invalidations to the hub. The hub itself needs the broker, so it is set later.
private final class LiveInvalidationRelay: Sendable {
    private let hub = Mutex<LiveHub?>(nil)

    func set(_ hub: LiveHub) { self.hub.withLock { $0 = hub } }

    func forget(_ forget: Forget, isGap: Bool = false, _ done: @escaping @Sendable () -> Void = {}) {
        guard let hub = hub.withLock({ $0 }) else { return done() }
        hub.forget(forget, isGap: isGap, done)
    }
}

/// The broker's part: it starts before the listener and stops after it.
private struct BrokerLife: ProcessPart {
    let broker: Broker
    let code: CodeRequests

    /// The time for calls between services that go through this gateway. They are retried at another gateway if that is
    /// safe.
    private static let callsMax = Duration.seconds(2)

    func run(until end: ProcessEnd) async throws {
        // Cloud code may wait for its triggers, which are calls of cloud code as well; its pool limits them.
        try await broker.start(
            answering: [CloudCalls.ask.kind: { code.take($0) }], withoutWindow: [CloudCalls.run.service])
        await end.wait()
        await broker.leave(within: Self.callsMax)
        broker.stop()
    }
}
