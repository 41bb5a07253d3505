/// The calls that `catalog` answers beside its objects, files, webhooks and jobs.
public enum CatalogCalls {
    /// Current prices without taking stock. Sender: bag.
    public static let price = Call<PriceRequest, PriceReply>("catalog.price.v1")
    /// Takes goods out of stock for an order. Sender: bag.
    public static let reserve = Call<ReserveRequest, ReserveReply>("catalog.reserve.v1", spreads: true)
    /// The reserved goods are sold. Sender: bag's outbox.
    public static let commitReservation = Call<CommitReservationRequest, CommitReservationReply>(
        "catalog.commitReservation.v1", spreads: true)
    /// The reserved goods go back to stock. Sender: bag and its outbox.
    public static let releaseReservation = Call<ReleaseReservationRequest, ReleaseReservationReply>(
        "catalog.releaseReservation.v1", spreads: true)
    /// Goods of a cancelled or refunded order are for sale again. Sender: bag's outbox.
    public static let restock = Call<RestockRequest, Accepted>("catalog.restock.v1")
    /// The parameters of Config. Sender: gateway.
    public static let config = Call<ConfigRequest, ConfigReply>("catalog.config.v1")
    /// Changes parameters of Config. Sender: gateway.
    public static let setConfig = Call<SetConfigRequest, Accepted>("catalog.setConfig.v1")
    /// Takes a client's request id for a time. Sender: gateway.
    public static let claimRequest = Call<ClaimRequest, Accepted>("catalog.claimRequest.v1")
    /// Gives a request id back. Sender: gateway.
    public static let releaseRequest = Call<ReleaseRequest, Accepted>("catalog.releaseRequest.v1")
    /// A user calls himself otherwise in public. Sender: users' outbox.
    public static let userRenamed = Call<UserRenamed, Accepted>("catalog.userRenamed.v1")

    static let all: [any DeclaredCall] = [
        price, reserve, commitReservation, releaseReservation, restock, config, setConfig, claimRequest, releaseRequest,
        userRenamed,
    ]
}
