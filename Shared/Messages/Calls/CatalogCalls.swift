/// The calls of `catalog` other than its objects, files, webhooks and jobs.
public enum CatalogCalls {
    /// Current prices, without a reservation of stock. Sender: bag.
    public static let price = Call<PriceRequest, PriceReply>("catalog.price.v1")
    /// Reserves stock for an order. Sender: bag.
    public static let reserve = Call<ReserveRequest, ReserveReply>("catalog.reserve.v1", spreads: true)
    /// Completes a reservation as sold. Sender: bag's outbox.
    public static let commitReservation = Call<CommitReservationRequest, CommitReservationReply>(
        "catalog.commitReservation.v1", spreads: true)
    /// Returns reserved stock. Sender: bag and its outbox.
    public static let releaseReservation = Call<ReleaseReservationRequest, ReleaseReservationReply>(
        "catalog.releaseReservation.v1", spreads: true)
    /// Adds goods of a cancelled or refunded order to the stock. Sender: bag's outbox.
    public static let restock = Call<RestockRequest, Accepted>("catalog.restock.v1")
    /// The parameters of Config. Sender: gateway.
    public static let config = Call<ConfigRequest, ConfigReply>("catalog.config.v1")
    /// Changes parameters of Config. Sender: gateway.
    public static let setConfig = Call<SetConfigRequest, Accepted>("catalog.setConfig.v1")
    /// Counts a receipt that a client wants validated; fails with 155 when the quota is exhausted. Sender: gateway.
    public static let countReceipt = Call<ConfigRequest, Accepted>("catalog.countReceipt.v1")
    /// Claims a client's request id for some time. Sender: gateway.
    public static let claimRequest = Call<ClaimRequest, Accepted>("catalog.claimRequest.v1")
    /// Releases a request id. Sender: gateway.
    public static let releaseRequest = Call<ReleaseRequest, Accepted>("catalog.releaseRequest.v1")
    /// Begins a run of a write with an `Idempotency-Key`, or renews it. Sender: gateway.
    public static let beginWrite = Call<BeginWrite, WriteState>("catalog.beginWrite.v1")
    /// Whether a run of such a write is under way. Sender: gateway.
    public static let writeState = Call<BeginWrite, WriteState>("catalog.writeState.v1")
    /// Stores the answer of such a run. Sender: gateway.
    public static let endWrite = Call<EndWrite, WriteState>("catalog.endWrite.v1")
    /// A user changed the display name. Sender: users' outbox.
    public static let userRenamed = Call<UserRenamed, Accepted>("catalog.userRenamed.v1")

    static let all: [any DeclaredCall] = [
        price, reserve, commitReservation, releaseReservation, restock, config, setConfig, countReceipt,
        claimRequest, releaseRequest, beginWrite, writeState, endWrite, userRenamed,
    ]
}

extension EndWrite {
    /// Bytes of a stored answer. An order with many items has a few kilobytes, the answer to a batch of 200 creates 16.
    public static let answerBytesMax = 128 << 10
}
