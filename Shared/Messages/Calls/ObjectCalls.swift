/// The calls of every service about its Parse objects and cloud functions. The kinds begin with the service's name.
public struct ObjectCalls: Sendable {
    private let service: String

    /// - Parameter service: the owner of the objects.
    public init(of service: String) { self.service = service }

    // Objects. Sender: gateway; `fetch` is also sent by services that show objects of another service.
    /// One object by id.
    public var get: Call<GetRequest, GetReply> { Call("\(service).get.v1") }
    /// A page of the objects that match a query, or their number.
    public var find: Call<FindRequest, FindReply> { Call("\(service).find.v1") }
    /// Many objects by id.
    public var fetch: Call<FetchRequest, FetchReply> { Call("\(service).fetch.v1") }
    /// The objects or ids for a sub-query or relation in a filter of another service's class.
    public var lookup: Call<LookupRequest, LookupReply> { Call("\(service).lookup.v1") }
    /// The results of an aggregation pipeline, for the master key.
    public var aggregate: Call<AggregateRequest, AggregateReply> { Call("\(service).aggregate.v1") }
    /// Creates, changes and deletes objects, several in one transaction.
    public var write: Call<WriteRequest, WriteReply> { Call("\(service).write.v1", spreads: true) }
    /// A write that is tried and rolled back, before a webhook is called.
    public var preview: Call<WriteRequest, PreviewReply> { Call("\(service).preview.v1") }

    // Classes. Sender: gateway.
    /// The classes that the service owns.
    public var schemas: Call<SchemasRequest, Accepted> { Call("\(service).schemas.v1") }
    /// Creates, changes or drops a class.
    public var schema: Call<SchemaChange, Accepted> { Call("\(service).schema.v1") }
    /// Deletes every object of a class.
    public var purge: Call<SchemaChange, Accepted> { Call("\(service).purge.v1") }

    // Moving in from another server. Sender: gateway, always to the writer.
    /// One step of a move: the name is a `MoveVerb`. Parameters and data are documents.
    public var move: Call<FunctionRequest, FunctionReply> { Call("\(service).move.v1") }

    // Checks of the books. Sender: gateway.
    /// The wrong rows of a check, or a page of a list. Question and answer are documents (`ServiceBooks.answer`).
    public var books: Call<FunctionRequest, FunctionReply> { Call("\(service).books.v1") }

    // Work that was refused for good. Sender: gateway.
    /// Lists, retries or drops it: the name is a `ParkedVerb`. Parameters are a document.
    public var parked: Call<FunctionRequest, FunctionReply> { Call("\(service).parked.v1") }

    // Live queries. Sender: gateway.
    /// Creates or replaces a client's subscription.
    public var liveSubscribe: Call<LiveSubscribe, LiveSubscribed> { Call("\(service).liveSubscribe.v1") }
    /// Suspends subscriptions whose rights may have changed.
    public var liveHold: Call<LiveHold, Accepted> { Call("\(service).liveHold.v1") }
    /// Ends subscriptions.
    public var liveUnsubscribe: Call<LiveUnsubscribe, Accepted> { Call("\(service).liveUnsubscribe.v1") }
    /// Notices for the subscriptions; answered when there are any.
    public var liveNext: Call<LiveNext, LiveNews> { Call("\(service).liveNext.v1") }

    /// A cloud function. Sender: gateway; also push, which calls analytics, and bag, which calls payments.
    public var function: Call<FunctionRequest, FunctionReply> { Call("\(service).function.v1") }

    /// The call of a function by its name; some functions spread.
    public func function(_ name: String) -> Call<FunctionRequest, FunctionReply> {
        Call(function.kind, spreads: FunctionTable.entries[name]?.spreads == true)
    }

    /// The services that own classes.
    public static let keepers = ["bag", "catalog", "payments", "push", "users"]
    /// The services whose books are checked.
    public static let bookkeepers = ["analytics", "bag", "catalog", "crash", "mail", "payments", "push", "users"]
    /// The services with cloud functions; each also has the process report and parked work.
    public static let performers = FunctionTable.services

    private var ofObjects: [any DeclaredCall] {
        [
            get, find, fetch, lookup, aggregate, write, preview, schemas, schema, purge, move, liveSubscribe,
            liveHold, liveUnsubscribe, liveNext,
        ]
    }

    static let all: [any DeclaredCall] = {
        let ofAll: [any DeclaredCall] = performers.flatMap { service -> [any DeclaredCall] in
            [ObjectCalls(of: service).function, ObjectCalls(of: service).parked]
        }
        let books: [any DeclaredCall] = bookkeepers.map { ObjectCalls(of: $0).books }
        return keepers.flatMap { ObjectCalls(of: $0).ofObjects } + ofAll + books
    }()
}
