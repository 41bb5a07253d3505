import ParseProtocol

/// Decodes clients' large messages within the limits of HTTP request bodies: the memory budget, and the fair queue for
/// decoding.
struct LiveDecoder: Sendable {
    let bodies: BodyReader
    let queues: BodyQueues

    /// - Parameter network: `Network.clientNetwork` of the client.
    /// - Returns: the request, or the problem; 155 when the client has to reconnect.
    func decode(
        _ text: [UInt8], from network: String, isOperator: Bool
    ) async -> Result<LiveRequest, LiveProblem> {
        do throws(ParseError) {
            let hold = try bodies.hold(text, for: .init(network: network, isAuthenticated: isOperator))
            defer { withExtendedLifetime(hold) {} }
            try await queues.waitToDecode(
                text, from: network, isOperator ? .operator : .unauthenticated, quickBytes: LiveInbox.quickBytes)
            return LiveRequest.decode(text)
        } catch {
            return .failure(LiveProblem(error.code.rawValue, error.message, reconnects: true))
        }
    }
}
