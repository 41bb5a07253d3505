/// The calls of `crash` other than its functions.
public enum CrashCalls {
    /// A crash report from a Sentry SDK. Sender: gateway.
    public static let envelope = Call<CrashReport, CrashAnswer>("crash.envelope.v1", spreads: true)
    /// The app event `_CrashReport`. Sender: gateway.
    public static let appReport = Call<AppEvent, Accepted>("crash.appReport.v1", spreads: true)

    static let all: [any DeclaredCall] = [envelope, appReport]
}
