import MessageBus
import ParseProtocol

/// Counts large replies in the `ByteHold` of their request, from their arrival until the client has the response.
///
/// The request's calls of services carry the hold (`CallContext.hold`). Small replies are not counted.
enum ReplyHold {
    /// A reply counts twice: it is in memory as received, and again as decoded or sent.
    static let copies = 2

    /// Counts a reply, or replaces it by a failure when there is no memory for it. Called on the broker's thread as
    /// replies arrive, so that replies which wait for their task are counted.
    /// - Parameters:
    ///   - reserved: bytes that were reserved for it.
    ///   - isCommitted: whether the reply is to a change, which was committed: the client must get the response.
    static func admit(
        _ result: Result<BusReply, BusFailure>, _ hold: ByteHold?, reserved: Int, isCommitted: Bool
    ) -> Result<BusReply, BusFailure> {
        hold?.release(reserved)
        guard let hold, case .success(let reply) = result else { return result }
        guard isCommitted || !hold.isAbandoned else { return .failure(.abandoned) }
        let bytes = reply.documents.reduce(reply.body.count) { $0 + $1.count }
        guard bytes > CapacitySettings.smallBytes else { return result }
        if isCommitted {
            hold.force(bytes * copies)
        } else if !hold.take(bytes * copies) {
            return .failure(.tooManyRequests(text, retryAfterSeconds: 1))
        }
        return result
    }

    /// Takes memory for the values of a decoded reply.
    /// - Throws: `.requestLimitExceeded` (155) when there is none.
    static func reserveForDecoding(_ bytes: Int, _ hold: ByteHold?) throws(ParseError) {
        guard bytes > CapacitySettings.smallBytes, let hold else { return }
        guard hold.take(bytes * copies) else { throw full }
    }

    static let full = ParseError.tooManyRequests(text, retryAfterSeconds: 1)
    private static let text = "Too many large responses are under way. Try again later, or ask for less at once."
}

extension BusFailure {
    /// The client has closed the connection, so no client gets this error.
    static let abandoned = BusFailure(code: 100, "The client has gone.")
}
