import MessageBus
import Messages
import ParseProtocol
import ProcessKit

/// The response to a batch, joined from the bytes of its parts without decoding them.
///
/// Its size is limited. The first part that does not fit is replaced with an error, and after that reads are refused.
/// Changes continue, because their responses are small and half a batch helps no client.
package struct BatchResponse {
    private var output: [UInt8] = [UInt8(ascii: "[")]
    private let bytesMax: Int
    private let hold: ByteHold?
    /// The error after a part did not fit, here or in the memory budget of all responses. Reads are refused with it
    /// from then on.
    private(set) var refusal: ParseError?
    /// Whether a part may succeed in another run.
    private var hasTemporaryPart = false
    /// Whether a part with a webhook or cloud code succeeded. Another run would call it again, so the response is
    /// final.
    private var hasLastingCall = false

    /// - Parameter hold: the batch's share of the memory for large responses; nil when it is not counted.
    package init(bytesMax: Int, _ hold: ByteHold?) {
        self.bytesMax = bytesMax
        self.hold = hold
    }

    /// The size that the next part may have: the rest of the limit, and always a small response.
    var bytesLeft: Int { max(bytesMax - output.count, CapacitySettings.smallBytes) }

    static let full = ParseError(
        .invalidQuery, "The response to the batch is too large; use a smaller limit or keys, or fewer requests.")

    /// The complete response.
    package consuming func finished() -> ParseResponse {
        output.append(UInt8(ascii: "]"))
        var response = ParseResponse(body: output)
        response.hasTemporaryPart = hasTemporaryPart && !hasLastingCall
        return response
    }

    /// Appends the response to a change. The change has been made; therefore its response is included at any size.
    package mutating func append(success body: [UInt8]) {
        if body.count > CapacitySettings.smallBytes { hold?.force(body.count) }
        add("success", body.isEmpty ? Array("{}".utf8) : body)
    }

    mutating func append(_ outcome: WriteOutcome, _ document: [UInt8]) {
        if outcome.hasFailure {
            append(ParseError(BusFailure(outcome.failure)))
        } else {
            append(success: document)
        }
    }

    package mutating func append(_ error: ParseError) {
        let answer = ParseResponse(error)
        if answer.isTemporary { hasTemporaryPart = true }
        append("error", answer.body)
    }

    /// Appends the response of a request.
    /// - Parameter isHooked: whether the request calls a webhook or cloud code.
    package mutating func append(_ answer: ParseResponse, isHooked: Bool = false) {
        guard answer.stream == nil, !answer.body.isEmpty else { return append(.internalError) }
        let isSuccess = (200..<300).contains(answer.status)
        // Only a response with a content type may be other than JSON; it is checked before it is embedded.
        if answer.headers[.contentType] != nil, (try? JSON(parsing: answer.body)) == nil {
            return append(.internalError)
        }
        // The service got the remaining size with the request, and its response is larger.
        if let error = answer.error, error == Self.full || error == ReplyHold.full { refusal = error }
        if answer.isTemporary { hasTemporaryPart = true }
        if isSuccess, isHooked { hasLastingCall = true }
        append(isSuccess ? "success" : "error", answer.body)
    }

    private mutating func append(_ name: String, _ body: [UInt8]) {
        guard body.count <= CapacitySettings.smallBytes || output.count + body.count <= bytesMax else {
            return refuse(Self.full)
        }
        // Growing the buffer copies it, so both sizes exist for a moment.
        if body.count > CapacitySettings.smallBytes, let hold, !hold.take(body.count) {
            return refuse(ReplyHold.full)
        }
        add(name, body)
    }

    private mutating func add(_ name: String, _ body: [UInt8]) {
        if output.count > 1 { output.append(UInt8(ascii: ",")) }
        output.append(contentsOf: "{\"\(name)\":".utf8)
        output.append(contentsOf: body)
        output.append(UInt8(ascii: "}"))
        if output.count > bytesMax { refusal = Self.full }
    }

    private mutating func refuse(_ error: ParseError) {
        refusal = error
        append(error)
    }
}
