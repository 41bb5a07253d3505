/// The calls that every service answers about the Parse objects that it keeps, and its cloud functions. The kinds begin
/// with the service's name.
public struct ObjectCalls: Sendable {
    private let service: String

    /// - Parameter service: who keeps the objects.
    public init(of service: String) { self.service = service }

    // Objects. Sender: gateway; of `fetch` also services that show objects of another one.
    /// One object by id.
    public var get: Call<GetRequest, GetReply> { Call("\(service).get.v1") }
    /// A page of the objects that fit a query, or their number.
    public var find: Call<FindRequest, FindReply> { Call("\(service).find.v1") }
    /// Many objects by id.
    public var fetch: Call<FetchRequest, FetchReply> { Call("\(service).fetch.v1") }
    /// The objects or ids that a filter of another service's class needs.
    public var lookup: Call<LookupRequest, LookupReply> { Call("\(service).lookup.v1") }
    /// The results of an aggregation pipeline, for the master key.
    public var aggregate: Call<AggregateRequest, AggregateReply> { Call("\(service).aggregate.v1") }
    /// Creates, changes and deletes objects, several in one transaction.
    public var write: Call<WriteRequest, WriteReply> { Call("\(service).write.v1", spreads: true) }
    /// A write that is tried and undone, before a webhook hears of it.
    public var preview: Call<WriteRequest, PreviewReply> { Call("\(service).preview.v1") }

    // Classes. Sender: gateway.
    /// The classes that the service keeps.
    public var schemas: Call<SchemasRequest, Accepted> { Call("\(service).schemas.v1") }
    /// Creates, changes or drops a class.
    public var schema: Call<SchemaChange, Accepted> { Call("\(service).schema.v1") }
    /// Removes every object of a class.
    public var purge: Call<SchemaChange, Accepted> { Call("\(service).purge.v1") }

    // Live queries. Sender: gateway.
    /// Begins or replaces a client's subscription.
    public var liveSubscribe: Call<LiveSubscribe, LiveSubscribed> { Call("\(service).liveSubscribe.v1") }
    /// Stops matching for subscriptions whose rights may have changed.
    public var liveHold: Call<LiveHold, Accepted> { Call("\(service).liveHold.v1") }
    /// Ends subscriptions.
    public var liveUnsubscribe: Call<LiveUnsubscribe, Accepted> { Call("\(service).liveUnsubscribe.v1") }
    /// What is new for the subscriptions, answered when there is something.
    public var liveNext: Call<LiveNext, LiveNews> { Call("\(service).liveNext.v1") }

    /// A cloud function. Sender: gateway, and push, which asks analytics.
    public var function: Call<FunctionRequest, FunctionReply> { Call("\(service).function.v1") }

    /// The same for a function by its name, which may be one of those that spread.
    public func function(_ name: String) -> Call<FunctionRequest, FunctionReply> {
        Call(function.kind, spreads: Self.spreadingFunctions.contains(name))
    }

    /// The functions that any replica may carry out: those that fill bags and pay them.
    private static let spreadingFunctions: Set<String> = [
        "addToBag", "setBagQuantity", "emptyBag", "checkout", "chargeCustomer", "ChargeToken", "chargeToken",
    ]
    /// The services that keep classes.
    public static let keepers = ["bag", "catalog", "payments", "push", "users"]
    /// The services that have cloud functions. Of `cloud` it is only what each tells operators about itself.
    public static let performers = [
        "analytics", "bag", "catalog", "cloud", "crash", "mail", "payments", "push", "users",
    ]

    private var ofObjects: [any DeclaredCall] {
        [
            get, find, fetch, lookup, aggregate, write, preview, schemas, schema, purge, liveSubscribe, liveHold,
            liveUnsubscribe, liveNext,
        ]
    }

    static let all: [any DeclaredCall] = {
        let functions: [any DeclaredCall] = performers.map { ObjectCalls(of: $0).function }
        return keepers.flatMap { ObjectCalls(of: $0).ofObjects } + functions
    }()
}
