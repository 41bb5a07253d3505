/// What a `move` call asks of a service (`ObjectCalls.move`); the name in its `FunctionRequest`. Document 0 has the
/// parameters as JSON.
public enum MoveVerb: String, Sendable {
    /// Stages the schema of `className`. Document 1: `fields`, `classLevelPermissions` and `indexes`.
    case schema
    /// Stages rows of `className`. Document 1: lines of id, time and JSON text, separated by tabs.
    case rows
    /// Un-stages rows of `className` by `ids`.
    case removals
    /// Staged rows of `className` after the id `after`, at most `limit`. The answer: lines of id, time and checksum.
    case list
    /// The state of the move.
    case status
    /// Starts the switch, or a rehearsal if `rehearses`.
    case begin
    /// Drops everything that is staged.
    case undo
    /// The members of a relation after `after`, at most `limit`. The answer: lines of `<owner>:<member>`.
    case members
    /// The secrets that another server needs, such as password hashes, of objects of `className` after the id `after`,
    /// at most `limit`. The answer: lines of id and JSON text.
    case secrets
}
