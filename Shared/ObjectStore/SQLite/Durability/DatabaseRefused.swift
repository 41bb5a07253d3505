/// The store refuses to open a database because the service left another one here. Continuing would destroy data that
/// can still be recovered.
public struct DatabaseRefused: Error, Sendable, Equatable, CustomStringConvertible {
    /// For the operator: the problem and the remedy.
    public let description: String

    init(_ path: String, _ what: String, _ remedy: String = "Restore it: scripts/restore --replace FOLDER") {
        description = "\(path) \(what) \(remedy)"
    }
}
