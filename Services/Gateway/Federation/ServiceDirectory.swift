import Messages

/// The services with the classes and cloud functions that each owns. The catalog owns every class that is not listed.
enum ServiceDirectory {
    static func service(ofClass className: String) -> String { classes[className] ?? "catalog" }

    /// The calls of the class's owner for objects and schemas.
    static func calls(ofClass className: String) -> ObjectCalls { ObjectCalls(of: service(ofClass: className)) }

    /// The calls for requests that take one message. Their kinds are made once, not for each request.
    struct PlainCalls: Sendable {
        let get: Call<GetRequest, GetReply>
        let find: Call<FindRequest, FindReply>
        let write: Call<WriteRequest, WriteReply>

        fileprivate init(of service: String) {
            let calls = ObjectCalls(of: service)
            (get, find, write) = (calls.get, calls.find, calls.write)
        }
    }

    /// The calls of the class's owner for requests that take one message.
    static func plainCalls(ofClass className: String) -> PlainCalls { callsByClass[className] ?? callsOfCatalog }

    private static let callsOfCatalog = PlainCalls(of: "catalog")
    private static let callsByClass = classes.mapValues { PlainCalls(of: $0) }

    /// The owner of a cloud function and whether it writes; nil when there is none of that name.
    static func service(ofFunction name: String) -> FunctionTable.Entry? { FunctionTable.entries[name] }

    /// Satchel's function for an alias that a published app uses; nil for any other name. A deployed function or a
    /// webhook of that name takes precedence.
    static func function(ofAlias name: String) -> String? { FunctionTable.aliases[name] }

    /// Every cloud function.
    static var functionNames: [String] { FunctionTable.entries.keys.sorted() }

    /// Classes that other services own, in the form of `FindRequest.foreign_classes`.
    static func classes(notOf service: String) -> [String] { service == "catalog" ? listed : ["*"] }

    private static let listed = classes.keys.sorted()

    private static let classes: [String: String] = [
        "_User": "users", "_Session": "users", "_Role": "users",
        "Order": "bag", "OrderItem": "bag", "Address": "bag", "OrderDeskNote": "bag",
        "PaymentMethod": "payments",
        "Promotion": "push", "_Installation": "push", "_PushStatus": "push", "_Audience": "push",
    ]

    /// Internal classes that `/classes` shows to the master key (PARSE_PROTOCOL section 8), and to an operator whose
    /// area owns the class. Pointers, includes and sub-queries cannot reach them.
    static let masterClasses: Set<String> = [
        "_PushStatus", "_Audience", "_Idempotency", "_JobStatus", "_JobSchedule",
    ]

    /// Internal classes by the operator area whose routes use them.
    private static let deskClasses: [String: OperatorArea] = ["_JobStatus": .developers, "_JobSchedule": .developers]

    /// Whether `/classes` shows an internal class to a principal.
    static func shows(_ className: String, to principal: Principal) -> Bool {
        masterClasses.contains(className)
            && (principal.master || deskClasses[className].map { principal.runs([$0]) } ?? false)
    }

    /// The services that own Parse objects.
    static var objectServices: [String] { Array(Set(classes.values).union(["catalog"])).sorted() }

    /// Every service, for `health`.
    static let services = [
        "catalog", "users", "bag", "payments", "mail", "push", "analytics", "crash", "cloud", "web",
    ]
}
