import Logging
import Outbound

/// The routes that reach beyond the suite or look at it from above: webhooks, jobs, logs, the security report and
/// purchases.
struct CloudController: Sendable {
    let hooks: HooksController
    let jobs: JobsController
    let logs: LogController
    let security: SecurityController
    let purchases: PurchaseController
    private let services: ServiceClient
    private let registry: HookRegistry
    private let webhooks: Webhooks

    init(
        settings: CloudSettings, services: ServiceClient, objects: ObjectsController,
        configuration: GatewayConfiguration, logger: Logger
    ) {
        let client = OutboundClient(authorities: settings.authorities)
        self.services = services
        registry = HookRegistry(services: services)
        webhooks = Webhooks(client: client, settings: settings, logger: logger)
        hooks = HooksController(registry: registry, services: services)
        jobs = JobsController(services: services, objects: objects)
        logs = LogController(
            directory: settings.logDirectory,
            secrets: [
                configuration.masterKey, settings.webhookKey, configuration.admission.readOnlyMasterKey,
                configuration.admission.maintenanceKey,
            ].compactMap(\.self)
                + configuration.clientKeys.values)
        security = SecurityController(
            configuration: configuration, settings: settings, services: services, registry: registry)
        purchases = PurchaseController(
            store: AppStore(client: client, settings: settings, logger: logger), services: services,
            links: configuration.fileLinks, signer: configuration.fileSigner)
    }

    /// The webhooks that may have a say in a request; nil when there are none at all.
    func hooks(for request: ParseRequest) -> HookScope? { HookScope(registry, webhooks, services, request) }
}
