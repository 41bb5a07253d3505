/// What a `parked` call asks of a service (`ObjectCalls.parked`); the name in its `FunctionRequest`. Document 0 has the
/// parameters as JSON.
public enum ParkedVerb: String, Sendable {
    /// The newest items of the kinds that the caller may see, and the number of all of them by kind.
    case list
    /// Does the work of the item `id` of `kind` again.
    case retry
    /// Gives the item `id` of `kind` up.
    case drop
}
