/// The calls of `push` other than its objects and functions.
public enum PushCalls {
    /// Sends a notification to installations, now or later. Sender: gateway.
    public static let send = Call<SendPushRequest, SendPushReply>("push.send.v1")

    static let all: [any DeclaredCall] = [send]
}
