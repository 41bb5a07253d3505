/// The reason for which a process cannot work as it is set up: the one error that ends a start. It names the setting or
/// the file, and never holds a secret.
public struct StartupProblem: Error, Sendable, Equatable, CustomStringConvertible {
    /// For the operator, who finds it in the log.
    public let description: String

    /// A problem in the operator's words. `description` holds no secret.
    public init(_ description: String) { self.description = description }
}
