/// The call by which an outbox hands a service several messages at once. Every service answers it.
public struct DeliveryCalls: Sendable {
    private let service: String

    /// - Parameter service: who gets the messages.
    public init(to service: String) { self.service = service }

    /// Carries out each message as if it had come alone. Sender: every outbox.
    ///
    /// `mail` gets nothing but mails to queue by it, and the news of deleted accounts.
    public var deliver: Call<DeliverRequest, DeliverReply> {
        Call("\(service).deliver.v1", spreads: service == "mail")
    }

    static let all: [any DeclaredCall] = ObjectCalls.performers.map { DeliveryCalls(to: $0).deliver }
}
