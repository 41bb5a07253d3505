/// The calls that `bag` answers beside its objects and functions.
public enum BagCalls {
    /// An anonymous user's bag moves to the account that the same device signed in to. Sender: users' outbox.
    public static let merge = Call<MergeBag, Accepted>("bag.merge.v1")

    static let all: [any DeclaredCall] = [merge]
}
