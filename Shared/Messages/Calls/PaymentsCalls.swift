/// The calls that `payments` answers beside its objects and functions.
public enum PaymentsCalls {
    /// Takes money, once for each operation id. Sender: bag.
    public static let charge = Call<ChargeRequest, ChargeReply>("payments.charge.v1", spreads: true)
    /// The outcome of a charge. Sender: bag.
    public static let findCharge = Call<FindChargeRequest, ChargeReply>("payments.findCharge.v1", spreads: true)
    /// Gives money back, once for each operation id. Sender: bag.
    public static let refund = Call<RefundRequest, RefundReply>("payments.refund.v1", spreads: true)
    /// The highest order number that payments heard of. Sender: bag.
    public static let highestOrder = Call<HighestOrderRequest, HighestOrderReply>("payments.highestOrder.v1")
    /// An event from the payment provider. Sender: gateway.
    public static let webhook = Call<PaymentWebhook, Accepted>("payments.webhook.v1")

    static let all: [any DeclaredCall] = [charge, findCharge, refund, highestOrder, webhook]
}
