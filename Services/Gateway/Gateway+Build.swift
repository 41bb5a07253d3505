import Foundation
import Hummingbird
import Logging
import MessageBus
import ProcessKit
import ServiceLifecycle

/// Wires the gateway and runs it until SIGTERM or SIGINT.
func runGateway() async throws {
    ProcessStart.setUpLogging()
    ProcessMemory.keepSmall()
    let configuration = try GatewayConfiguration()
    let logger = configuration.start.makeLogger("gateway-1")

    let sessions = SessionCache()
    let broker = try Broker(configuration: configuration.bus, logger: logger) { sessions.forget($0) }
    let services = ServiceClient(broker: broker)
    let meter = RequestMeter()
    let federation = Federation(services: services, limitMax: configuration.limitMax)
    let objects = ObjectsController(services: services, federation: federation, configuration: configuration)
    let accounts = AccountsController(services: services, configuration: configuration)
    let cloud = CloudController(
        settings: configuration.cloud, services: services, objects: objects, configuration: configuration,
        logger: logger)
    let router = ParseRouter(
        configuration: configuration,
        admission: Admission(
            settings: configuration.admission, masterKey: configuration.masterKey, services: services),
        principals: PrincipalResolver(configuration: configuration, sessions: sessions, services: services),
        objects: objects,
        aggregates: AggregateController(services: services, federation: federation),
        accounts: accounts,
        functions: FunctionsController(services: services),
        intake: IntakeController(services: services),
        schemas: SchemasController(services: services),
        exports: ExportController(services: services, federation: federation),
        imports: ImportController(objects: objects, services: services),
        config: ConfigController(services: services),
        files: FilesController(services: services, configuration: configuration),
        push: PushController(services: services, objects: objects, federation: federation),
        pages: PagesController(
            pages: try Pages(configuration: configuration), accounts: accounts, configuration: configuration),
        sentry: SentryController(services: services),
        system: SystemController(
            broker: broker,
            document: try OpenAPIDocument(
                routes: RouteTable.mounted.routes, outside: RouteTable.outside.routes,
                publicURL: configuration.publicURL)),
        cloud: cloud,
        meter: meter,
        logger: logger)

    let gate = ConnectionGate(configuration.capacity, proxies: configuration.admission.trustedProxies)
    let application = Application(
        responder: HTTPFront(
            router: router, configuration: configuration, bodies: BodyReader(configuration.capacity),
            turns: LargeBodyTurns(share: configuration.capacity.largeBodyShare),
            answers: configuration.capacity.answers(), logger: logger),
        server: .http1(
            configuration: .init(
                additionalChannelHandlers: [ConnectionGuard(gate), ContinueHandler()], idleTimeout: .seconds(75))),
        configuration: .init(
            address: .hostname(configuration.host, port: configuration.port), serverName: nil, backlog: 1024),
        services: [
            BrokerService(broker: broker), RequestReporter(meter: meter, services: services, logger: logger),
        ],
        onServerRunning: { channel in
            logger.notice("Listening.", metadata: ["url": "\(configuration.publicURL)"])
        },
        logger: logger)
    try await application.runService()
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
