/// The controllers that routes call, each for one resource.
struct Controllers: Sendable {
    let objects: ObjectsController
    let aggregates: AggregateController
    let schemas: SchemasController
    let accounts: AccountsController
    let functions: FunctionsController
    let jobs: JobsController
    let hooks: HooksController
    let files: FilesController
    let pictures: PicturesController
    let exports: ExportController
    let imports: ImportController
    let moves: MovesController
    let push: PushController
    let purchases: PurchaseController
    let stripeWebhook: StripeWebhookController
    let events: EventsController
    let sentry: SentryController
    let pages: PagesController
    /// Nil where the operator has turned the pages off.
    let site: WebSite?
    /// Nil where the operator has turned the storefront off.
    let storefront: StorefrontController?
    let config: ConfigController
    let live: LiveController
    let logs: LogController
    let security: SecurityController
    let system: SystemController
    let operations: OperationsController
    let metrics: MetricsController
    let parked: ParkedController
    let mails: MailController
}
