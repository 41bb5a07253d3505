/// The reason why a process cannot start: an invalid setting or file. It names that setting or file, and contains no
/// secret.
public struct StartupProblem: Error, Sendable, Equatable, CustomStringConvertible {
    /// A text for the operator, who finds it in the log.
    public let description: String

    /// The exit status of a process that cannot start until an operator acts (`EX_CONFIG` of sysexits.h). The scripts
    /// report such a process at once.
    public static let exitStatus: Int32 = 78

    /// A problem described for the operator. `description` contains no secret.
    public init(_ description: String) { self.description = description }
}
