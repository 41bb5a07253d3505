/// The calls of `bag` other than its objects and functions.
public enum BagCalls {
    /// Moves or copies an anonymous user's bag to the account that the same device signed in to. Sender: users' outbox.
    public static let merge = Call<MergeBag, Accepted>("bag.merge.v1")

    /// An account is about to be deleted. Fails with 142 while a payment of the account is undecided; otherwise no
    /// checkout of the account begins for some seconds. Sender: users.
    public static let beginDeletion = Call<UserDeleted, Accepted>("bag.beginDeletion.v1")

    /// A product was deleted; its order lines keep its name. Sender: catalog's outbox.
    public static let productDeleted = Call<ProductDeleted, Accepted>("bag.productDeleted.v1")

    /// Name, e-mail address or phone number of an account changed. Sender: users' outbox.
    public static let userChanged = Call<UserChanged, Accepted>("bag.userChanged.v1")

    /// The customer's bank reversed a refund that had succeeded. Sender: payments' outbox.
    public static let refundFailed = Call<RefundFailed, Accepted>("bag.refundFailed.v1")

    static let all: [any DeclaredCall] = [merge, beginDeletion, productDeleted, userChanged, refundFailed]
}
