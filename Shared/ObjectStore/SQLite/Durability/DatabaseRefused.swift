/// The refusal to open a database: it is not what this service left there, and going on would lose what may still be
/// saved.
public struct DatabaseRefused: Error, Sendable, Equatable, CustomStringConvertible {
    /// For the operator: what is wrong, and what to do.
    public let description: String

    init(_ path: String, _ what: String, _ remedy: String = "Restore it from a copy.") {
        description = "\(path) \(what) \(remedy)"
    }
}
