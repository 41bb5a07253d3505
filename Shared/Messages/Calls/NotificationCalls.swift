/// The calls that notify several services of an event, each with its own kind. They are always sent through an outbox.
public struct NotificationCalls: Sendable {
    private let service: String

    /// - Parameter service: the receiver.
    public init(to service: String) { self.service = service }

    /// An order was paid.
    public var orderMade: Call<OrderMade, Accepted> { Call("\(service).orderMade.v1") }
    /// The status of an order changed.
    public var orderChanged: Call<OrderChanged, Accepted> { Call("\(service).orderChanged.v1") }
    /// An account was deleted.
    public var userDeleted: Call<UserDeleted, Accepted> { Call("\(service).userDeleted.v1") }

    // MARK: - Receivers

    /// Sender: bag.
    public static let orderMade = ["analytics", "push", "payments"].map { NotificationCalls(to: $0).orderMade }
    /// Sender: bag.
    public static let orderChanged = ["analytics", "push"].map { NotificationCalls(to: $0).orderChanged }
    /// The services with data of users. Sender: users. When an account is merged into another one, `bag` is notified by
    /// `BagCalls.merge` instead.
    public static let userDeleted = ["catalog", "bag", "payments", "mail", "push", "analytics", "crash"].map {
        NotificationCalls(to: $0).userDeleted
    }

    static let all: [any DeclaredCall] = {
        let news: [[any DeclaredCall]] = [orderMade, orderChanged, userDeleted]
        return news.flatMap { $0 }
    }()
}
