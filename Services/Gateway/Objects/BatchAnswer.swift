import ParseProtocol

/// The answer to a batch, put together from the bytes of its parts: nothing of them is decoded.
///
/// It grows up to a bound. The first part that does not fit is answered with an error instead, and whatever only reads
/// is not asked for any more; changes go on, because their answers are small and half a batch helps nobody.
struct BatchAnswer {
    private var output: [UInt8] = [UInt8(ascii: "[")]
    private let bytesMax: Int
    /// Why a part had no room, here or in the memory for all answers. What only reads is not asked for any more.
    private(set) var refusal: ParseError?

    init(bytesMax: Int) { self.bytesMax = bytesMax }

    /// How large a part may still be: as much as the bound leaves, and always a small answer.
    var bytesLeft: Int { max(bytesMax - output.count, CapacitySettings.smallBytes) }

    static let full = ParseError(
        .invalidQuery, "The answer of the batch is too large; use a smaller limit or keys, or fewer requests.")

    /// The whole answer.
    consuming func finished() -> [UInt8] {
        output.append(UInt8(ascii: "]"))
        return output
    }

    /// The answer of a change. It has been made, so that its answer stands whatever its size.
    mutating func append(success body: [UInt8]) {
        if body.count > CapacitySettings.smallBytes { AnswerHold.current?.force(body.count) }
        add("success", body.isEmpty ? Array("{}".utf8) : body)
    }

    mutating func append(_ error: ParseError) { append("error", error.body.serialized) }

    /// The answer of a request.
    mutating func append(_ answer: ParseResponse) {
        guard answer.stream == nil, !answer.body.isEmpty else { return append(.internalError) }
        let isSuccess = (200..<300).contains(answer.status)
        // Only what says so is not JSON; it is looked at before it stands within JSON.
        if answer.headers[.contentType] != nil, (try? JSON(parsing: answer.body)) == nil {
            return append(.internalError)
        }
        // A service was told how much room there is, and has more.
        if let error = answer.error, error == Self.full || error == AnswerHold.full { refusal = error }
        append(isSuccess ? "success" : "error", answer.body)
    }

    private mutating func append(_ name: String, _ body: [UInt8]) {
        guard body.count <= CapacitySettings.smallBytes || output.count + body.count <= bytesMax else {
            return refuse(Self.full)
        }
        // Growing copies, so that both sizes are there for a moment.
        if body.count > CapacitySettings.smallBytes, let hold = AnswerHold.current, !hold.take(body.count) {
            return refuse(AnswerHold.full)
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
