import MessageBus
import ParseProtocol

/// A request's part of the memory for large answers, from the moment a service's reply arrives until the client has
/// taken it.
///
/// It travels as a task-local value, so that every way to a service passes it. Small replies are not counted.
enum AnswerHold {
    @TaskLocal static var current: ByteHold?

    /// A reply is held as it came and once more on its way out or in, so that it counts twice.
    static let copies = 2

    /// Says why a reply cannot be kept. Called on the broker's thread as replies arrive, so that those which wait for a
    /// turn are counted.
    /// - Parameters:
    ///   - reserved: bytes that were taken for it beforehand.
    ///   - isDone: the reply is to a change: it was carried out, and whoever asked for it must hear so.
    static func admit(
        _ result: Result<BusReply, BusFailure>, _ hold: ByteHold?, reserved: Int, isDone: Bool
    ) -> Result<BusReply, BusFailure> {
        hold?.release(reserved)
        guard let hold, case .success(let reply) = result else { return result }
        guard isDone || !hold.isAbandoned else { return .failure(.abandoned) }
        let bytes = reply.documents.reduce(reply.body.count) { $0 + $1.count }
        guard bytes > CapacitySettings.smallBytes else { return result }
        if isDone {
            hold.force(bytes * copies)
        } else if !hold.take(bytes * copies) {
            return .failure(.tooManyRequests(text, retryAfterSeconds: 1))
        }
        return result
    }

    /// Room for the values of a reply that is decoded.
    /// - Throws: `.requestLimitExceeded` (155) when there is none.
    static func decode(_ bytes: Int) throws(ParseError) {
        guard bytes > CapacitySettings.smallBytes, let hold = current else { return }
        guard hold.take(bytes * copies) else { throw full }
    }

    static let full = ParseError.tooManyRequests(text, retryAfterSeconds: 1)
    private static let text = "Too many large answers are under way. Try again later, or ask for less at once."
}

extension BusFailure {
    /// Whoever asked has closed the connection, so that nobody reads this.
    static let abandoned = BusFailure(code: 100, "The client has gone.")
}
