import ParseProtocol

/// Decodes clients' large messages within the limits of HTTP request bodies: the memory budget, and the fair queue for
/// decoding.
struct LiveDecoder: Sendable {
    let bodies: BodyReader
    let turns: LargeBodyTurns

    /// - Parameter network: `Network.customerName` of the client.
    /// - Returns: the request, or the problem; 155 when the client has to reconnect.
    func decode(
        _ text: [UInt8], from network: String, isOperator: Bool
    ) async -> Result<LiveRequest, LiveProblem> {
        do throws(ParseError) {
            let hold = try bodies.hold(text, for: .init(network: network, isKnown: isOperator))
            defer { withExtendedLifetime(hold) {} }
            try await turns.turn(
                of: network, isOperator ? .operator : .stranger, text, quickBytes: LiveInbox.quickBytes)
            return LiveRequest.decode(text)
        } catch {
            return .failure(LiveProblem(error.code.rawValue, error.message, reconnects: true))
        }
    }
}
