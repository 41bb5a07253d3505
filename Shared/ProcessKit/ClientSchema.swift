/// `SATCHEL_CLIENT_SCHEMA`: whether clients without the operator's rights add classes and fields. The services obey it,
/// the gateway reports it.
public enum ClientSchema: String, CaseIterable, Sendable {
    /// They do, at a pace.
    case paced
    /// They do not.
    case closed

    /// - Throws: `StartupProblem` for anything else.
    public init(_ settings: Settings) throws(StartupProblem) {
        self = try settings.choice("satchel.client.schema", default: ClientSchema.paced)
    }
}
