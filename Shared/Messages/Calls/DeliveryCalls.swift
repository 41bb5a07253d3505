/// The call that delivers several outbox messages to a service at once. Every service has it.
public struct DeliveryCalls: Sendable {
    private let service: String

    /// - Parameter service: the receiver of the messages.
    public init(to service: String) { self.service = service }

    /// Processes each message as if it had arrived alone. Sender: every outbox.
    ///
    /// `mail` receives only mails to queue and notices of deleted accounts by it.
    public var deliver: Call<DeliverRequest, DeliverReply> {
        Call("\(service).deliver.v1", spreads: service == "mail")
    }

    static let all: [any DeclaredCall] = ObjectCalls.performers.map { DeliveryCalls(to: $0).deliver }
}
