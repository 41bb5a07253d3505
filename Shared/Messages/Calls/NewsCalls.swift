/// The calls by which several services hear of something that happened, each under a kind of its own. Always through an
/// outbox.
public struct NewsCalls: Sendable {
    private let service: String

    /// - Parameter service: who hears it.
    public init(to service: String) { self.service = service }

    /// An order was paid.
    public var orderMade: Call<OrderMade, Accepted> { Call("\(service).orderMade.v1") }
    /// A made order went on.
    public var orderChanged: Call<OrderChanged, Accepted> { Call("\(service).orderChanged.v1") }
    /// An account was deleted.
    public var userDeleted: Call<UserDeleted, Accepted> { Call("\(service).userDeleted.v1") }

    // MARK: - Everybody who hears of it

    /// Sender: bag.
    public static let orderMade = ["analytics", "push", "payments"].map { NewsCalls(to: $0).orderMade }
    /// Sender: bag.
    public static let orderChanged = ["analytics", "push"].map { NewsCalls(to: $0).orderChanged }
    /// Every service that knows users. Sender: users. Of an account that was merged into another, `bag` hears by
    /// `BagCalls.merge`.
    public static let userDeleted = ["catalog", "bag", "payments", "mail", "push", "analytics", "crash"].map {
        NewsCalls(to: $0).userDeleted
    }

    static let all: [any DeclaredCall] = {
        let news: [[any DeclaredCall]] = [orderMade, orderChanged, userDeleted]
        return news.flatMap { $0 }
    }()
}
