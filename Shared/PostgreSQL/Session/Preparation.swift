/// A prepared statement on the server, which the statements with its SQL share.
final class Preparation {
    private let session: Session
    /// The name on the server.
    private(set) var name: String
    var isSent = false

    init(_ session: Session) {
        self.session = session
        name = session.nextName()
    }

    deinit { if isSent { session.forget(name) } }

    /// Makes the next run prepare the statement again, under a new name.
    /// - Parameter isThere: whether the server may still have the old prepared statement.
    func renew(isThere: Bool) {
        if isThere { session.forget(name) }
        (name, isSent) = (session.nextName(), false)
    }
}
