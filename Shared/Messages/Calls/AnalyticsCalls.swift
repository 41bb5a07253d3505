/// The calls of `analytics` other than its functions.
public enum AnalyticsCalls {
    /// An app event. Sender: gateway.
    public static let event = Call<AppEvent, Accepted>("analytics.event.v1", spreads: true)
    /// Counts of answered API requests. Sender: gateway.
    public static let requests = Call<RequestCounts, Accepted>("analytics.requests.v1")

    static let all: [any DeclaredCall] = [event, requests]
}
