import Foundation
import Hummingbird
import HummingbirdCore
import Logging
import MessageBus
import Messages
import Outbound
import ProcessKit
import ServiceLifecycle
import Synchronization

/// Wires the gateway and runs it until SIGTERM or SIGINT.
func runGateway() async throws {
    ProcessStart.setUpLogging()
    ProcessMemory.keepSmall()
    let configuration = try GatewayConfiguration()
    let logger = configuration.start.makeLogger("gateway-1")

    let sessions = SessionCache()
    let cache = ReadCache(configuration)
    let hearers = LiveHearers()
    let broker = try Broker(
        configuration: configuration.bus, logger: logger,
        onForget: {
            sessions.forget($0)
            hearers.forget($0)
        },
        onStates: { cache?.servicesChanged($0) })
    let services = ServiceClient(broker: broker)
    let meter = RequestMeter()
    let outbound = OutboundClient(authorities: configuration.cloud.authorities)
    let hooks = HookScopes(
        registry: HookRegistry(services: services),
        webhooks: Webhooks(client: outbound, settings: configuration.cloud, logger: logger), services: services)
    let admission = Admission(
        settings: configuration.admission, masterKey: configuration.masterKey, services: services)
    let principals = PrincipalResolver(configuration: configuration, sessions: sessions, services: services)
    let hub = LiveHub(
        access: LiveAccess(
            settings: configuration.live, principals: principals, admission: admission, hooks: hooks.registry),
        broker: broker, links: configuration.fileLinks, logger: logger)
    hearers.set(hub)
    let router = ParseRouter(
        configuration: configuration, admission: admission, principals: principals, hooks: hooks,
        controllers: try Controllers(configuration, broker, services, cache, hooks.registry, hub, outbound, logger),
        meter: meter)

    let gate = ConnectionGate(configuration.capacity, proxies: configuration.admission.trustedProxies)
    let front = HTTPFront(
        router: router, configuration: configuration, bodies: BodyReader(configuration.capacity),
        turns: LargeBodyTurns(share: configuration.capacity.largeBodyShare),
        answers: configuration.capacity.answers(), logger: logger)
    let application = Application(
        responder: front,
        server: .http1(
            configuration: .init(
                additionalChannelHandlers: [
                    ConnectionGuard(gate), ContinueHandler(),
                    // Before the reader, so that it sees every request; Hummingbird's own has no time limit then.
                    HTTPConnectionStateHandler(idleTimeout: .seconds(75), logger: logger),
                    LiveUpgrade(hub, configuration, router.mount), DirectReader(front),
                ])),
        configuration: .init(
            address: .hostname(configuration.host, port: configuration.port), serverName: nil, backlog: 1024),
        services: [
            BrokerService(broker: broker), RequestReporter(meter: meter, services: services, logger: logger), hub,
        ],
        onServerRunning: { channel in
            logger.notice("Listening.", metadata: ["url": "\(configuration.publicURL)"])
        },
        logger: logger)
    try await application.runService()
}

extension Controllers {
    /// - Throws: when a page or a part of the OpenAPI document cannot be used.
    fileprivate init(
        _ configuration: GatewayConfiguration, _ broker: Broker, _ services: ServiceClient, _ cache: ReadCache?,
        _ registry: HookRegistry, _ hub: LiveHub, _ outbound: OutboundClient, _ logger: Logger
    ) throws {
        let cloud = configuration.cloud
        let federation = Federation(services: services, limitMax: configuration.limitMax)
        let objects = ObjectsController(
            services: services, federation: federation, configuration: configuration, cache: cache)
        let accounts = AccountsController(services: services, configuration: configuration)
        self.init(
            objects: objects,
            aggregates: AggregateController(services: services, federation: federation),
            schemas: SchemasController(services: services),
            accounts: accounts,
            functions: FunctionsController(services: services),
            jobs: JobsController(services: services, objects: objects),
            hooks: HooksController(registry: registry, services: services),
            files: FilesController(services: services, configuration: configuration),
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
            config: ConfigController(services: services),
            live: LiveController(hub: hub),
            logs: LogController(directory: cloud.logDirectory, secrets: configuration.secrets),
            security: SecurityController(
                configuration: configuration, settings: cloud, services: services, registry: registry),
            system: SystemController(
                broker: broker, cache: cache,
                document: try OpenAPIDocument(
                    routes: RouteTable.mounted.routes, outside: RouteTable.outside.routes,
                    publicURL: configuration.publicURL)))
    }
}

/// Passes what the broker says of sessions to the hub, which needs the broker itself.
private final class LiveHearers: Sendable {
    private let hub = Mutex<LiveHub?>(nil)

    func set(_ hub: LiveHub) { self.hub.withLock { $0 = hub } }

    func forget(_ forget: Forget) { hub.withLock { $0 }?.forget(forget) }
}

/// The broker's life: it starts before the listener and stops after it.
private struct BrokerService: Service {
    let broker: Broker

    func run() async throws {
        try await broker.start()
        try? await gracefulShutdown()
        broker.stop()
    }
}
