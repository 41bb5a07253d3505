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
    ProcessMemory.keepSmall()
    let configuration = try GatewayConfiguration()
    let logger = configuration.start.makeLogger(configuration.replica)

    if configuration.cloud.codeReplacesFunctions {
        logger.warning("Functions of cloud code take the place of Satchel's own of the same name.")
    }

    let leases = GatewayLeases()
    let sessions = SessionCache(lease: leases.sessions)
    let cache = ReadCache(configuration)
    let hearers = LiveHearers()
    let traffic = BusTraffic()
    let known = HookCache(lease: leases.hooks)
    let broker = try Broker(
        configuration: configuration.bus, logger: logger,
        onForget: {
            sessions.forget($0)
            hearers.forget($0)
            if $0.hooks { known.forget() }
        },
        leases: leases.all,
        onTold: { forget, isGap, done in
            sessions.forget(forget)
            if forget.hooks { known.forget() }
            hearers.forget(forget, isGap: isGap, done)
        },
        onStates: { cache?.servicesChanged($0) }, onBatchEnd: { traffic.deliver() })
    let services = ServiceClient(broker: broker)
    let meter = RequestMeter()
    let outbound = OutboundClient(authorities: configuration.cloud.authorities)
    let standing = GatewayStanding(name: configuration.replica)
    let hooks = HookScopes(
        registry: HookRegistry(cache: known, services: services),
        webhooks: Webhooks(client: outbound, settings: configuration.cloud, logger: logger))
    let admission = Admission(
        settings: configuration.admission, masterKey: configuration.masterKey, services: services)
    let principals = PrincipalResolver(configuration: configuration, sessions: sessions, services: services)
    let hub = LiveHub(
        access: LiveAccess(
            settings: configuration.live, principals: principals, admission: admission, hooks: hooks.registry,
            leases: leases),
        triggers: LiveTriggers(scopes: hooks, links: configuration.fileLinks), broker: broker,
        links: configuration.fileLinks, place: configuration.replica, logger: logger)
    hearers.set(hub)
    let router = ParseRouter(
        configuration: configuration, admission: admission, principals: principals, hooks: hooks,
        controllers: try Controllers(
            configuration, standing, broker, services, cache, hooks.registry, hub, outbound, logger),
        meter: meter, logger: logger)

    let gate = ConnectionGate(configuration.capacity, proxies: configuration.admission.trustedProxies)
    let answers = configuration.capacity.answers()
    let front = HTTPFront(
        router: router, configuration: configuration, bodies: BodyReader(configuration.capacity),
        turns: LargeBodyTurns(share: configuration.capacity.largeBodyShare),
        answers: answers, traffic: traffic, logger: logger)
    // The last one ends first: no request is taken any more, those under way are answered, then the broker stops.
    try await ProcessParts.run(
        [
            BrokerLife(broker: broker, code: CodeRequests(router: router, answers: answers)),
            RequestReporter(meter: meter, services: services, logger: logger),
            server(front, gate, configuration, hub, router.mount, logger),
            // Before it: its streams have no end of their own.
            hub,
            // First of all: nobody is turned away before a balancer knows.
            GatewayDrain(standing: standing, duration: configuration.drain, logger: logger),
        ], until: await ProcessEnd.bySignal())
}

private func server(
    _ front: HTTPFront, _ gate: ConnectionGate, _ configuration: GatewayConfiguration, _ hub: LiveHub, _ mount: Mount,
    _ logger: Logger
) -> HTTPServer {
    HTTPServer(
        address: configuration.address, logger: logger, url: "\(configuration.publicURL)",
        handlers: {
            [
                ConnectionGuard(gate), ContinueHandler(), ConnectionUseHandler(),
                LiveUpgrade(hub, configuration, mount), DirectHandler(front),
            ]
        },
        respond: { request, connection in try await front.response(to: request, over: connection) })
}

extension Controllers {
    /// - Throws: when a page or a part of the OpenAPI document cannot be used.
    fileprivate init(
        _ configuration: GatewayConfiguration, _ standing: GatewayStanding, _ broker: Broker,
        _ services: ServiceClient, _ cache: ReadCache?, _ registry: HookRegistry, _ hub: LiveHub,
        _ outbound: OutboundClient, _ logger: Logger
    ) throws {
        let cloud = configuration.cloud
        let federation = Federation(services: services, limitMax: configuration.limitMax)
        let objects = ObjectsController(
            services: services, federation: federation, configuration: configuration, cache: cache,
            openClasses: OpenClasses(boards: cache))
        let accounts = AccountsController(services: services, configuration: configuration)
        let files = FileCache(configuration, boards: cache)
        let document = try OpenAPIDocument(
            routes: RouteTable.mounted.routes, outside: RouteTable.outside.routes, publicURL: configuration.publicURL)
        self.init(
            objects: objects,
            aggregates: AggregateController(services: services, federation: federation),
            schemas: SchemasController(services: services),
            accounts: accounts,
            functions: FunctionsController(services: services, codeReplacesOwn: cloud.codeReplacesFunctions),
            jobs: JobsController(services: services, objects: objects),
            hooks: HooksController(registry: registry, services: services),
            files: FilesController(services: services, configuration: configuration, cache: files),
            exports: ExportController(
                services: services, federation: federation, capacity: configuration.capacity),
            imports: ImportController(objects: objects, services: services),
            push: PushController(services: services, objects: objects, federation: federation),
            purchases: PurchaseController(
                store: AppStore(client: outbound, settings: cloud, logger: logger), services: services,
                links: configuration.fileLinks, signer: configuration.fileSigner),
            stripeWebhook: StripeWebhookController(services: services),
            events: EventsController(services: services),
            sentry: SentryController(services: services),
            pages: PagesController(
                templates: try PageTemplates(configuration: configuration), accounts: accounts,
                configuration: configuration),
            site: try configuration.servesDashboard ? WebSite(configuration: configuration) : nil,
            config: ConfigController(services: services),
            live: LiveController(hub: hub),
            logs: LogController(directory: cloud.logDirectory, secrets: configuration.secrets),
            security: SecurityController(
                configuration: configuration, settings: cloud, services: services, registry: registry),
            system: SystemController(
                standing: standing, broker: broker, cache: cache, files: files, hooks: registry.cache,
                document: document),
            operations: OperationsController(
                broker: broker, services: services, federation: federation, registry: registry,
                functions: document.functions, configuration: configuration))
    }
}

/// Passes what the broker says of sessions to the hub, which needs the broker itself.
private final class LiveHearers: Sendable {
    private let hub = Mutex<LiveHub?>(nil)

    func set(_ hub: LiveHub) { self.hub.withLock { $0 = hub } }

    func forget(_ forget: Forget, isGap: Bool = false, _ done: @escaping @Sendable () -> Void = {}) {
        guard let hub = hub.withLock({ $0 }) else { return done() }
        hub.forget(forget, isGap: isGap, done)
    }
}

/// The broker's life: it starts before the listener and stops after it.
private struct BrokerLife: ProcessPart {
    let broker: Broker
    let code: CodeRequests

    /// For calls of services that go by this gateway. They are repeated elsewhere where that is safe.
    private static let callsMax = Duration.seconds(2)

    func run(until end: ProcessEnd) async throws {
        // Cloud code waits for triggers of its own, which are calls of cloud code as well; its pool bounds them.
        try await broker.start(
            answering: [CloudCalls.ask.kind: { code.take($0) }], withoutWindow: [CloudCalls.run.service])
        await end.wait()
        await broker.leave(within: Self.callsMax)
        broker.stop()
    }
}
