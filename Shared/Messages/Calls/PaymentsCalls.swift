/// The calls of `payments` other than its objects and functions.
public enum PaymentsCalls {
    /// Charges a payment, once per operation id. Sender: bag.
    public static let charge = Call<ChargeRequest, ChargeReply>("payments.charge.v1", spreads: true)
    /// The outcome of a charge. Sender: bag.
    public static let findCharge = Call<FindChargeRequest, ChargeReply>("payments.findCharge.v1", spreads: true)
    /// Refunds a payment, once per operation id. Sender: bag.
    public static let refund = Call<RefundRequest, RefundReply>("payments.refund.v1", spreads: true)
    /// Ensures that a charge takes no money: cancels the charge or refunds it. Sender: bag's outbox, which repeats it
    /// until payments knows the outcome.
    public static let undoCharge = Call<FindChargeRequest, Accepted>("payments.undoCharge.v1")
    /// The highest order number that payments has received. Sender: bag.
    public static let highestOrder = Call<HighestOrderRequest, HighestOrderReply>("payments.highestOrder.v1")
    /// An event from the payment provider. Sender: gateway.
    public static let webhook = Call<PaymentWebhook, Accepted>("payments.webhook.v1")

    static let all: [any DeclaredCall] = [charge, findCharge, refund, undoCharge, highestOrder, webhook]
}
