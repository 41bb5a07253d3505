/// `SATCHEL_CLIENT_SCHEMA`: whether clients without operator rights may add classes and fields. The services enforce
/// it, the gateway reports it.
public enum ClientSchema: String, CaseIterable, Sendable {
    /// They may, within quotas.
    case paced
    /// They may not.
    case closed

    /// - Throws: `StartupProblem` for any other value.
    public init(_ settings: Settings) throws(StartupProblem) {
        self = try settings.choice("satchel.client.schema", default: ClientSchema.paced)
    }
}
