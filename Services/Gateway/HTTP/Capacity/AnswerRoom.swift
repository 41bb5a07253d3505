import MessageBus
import Messages
import ParseProtocol
import SwiftProtobuf

/// A request whose answer may be large: it says how large an answer may be before there is room for more.
protocol RoomedRequest: Message, Sendable {
    var answerBytesMax: UInt32 { get set }
}

protocol RoomedReply: Message {
    /// 0, or what there must be room for.
    var bytesNeeded: UInt32 { get }
}

extension FindRequest: RoomedRequest {}
extension FetchRequest: RoomedRequest {}
extension FindReply: RoomedReply {}
extension FetchReply: RoomedReply {}

/// Nobody knows how large an answer will be before it is made. So a service makes a large one only once there is room
/// for it in the gateway: many clients who ask for large answers at once would else have them all made, moved and
/// thrown away.
extension ServiceClient {
    /// Bytes that usual pages take: a thousand products.
    private static let usualBytes = 1 << 20
    /// Bytes that are asked for when there is hardly any room: a page of a shop's app.
    private static let scarceBytes = 256 << 10
    /// An estimate may be too small; the last time as much is asked for as the store allows.
    private static let estimates = 2

    /// Reads without making more than there is room for.
    /// - Throws: `.requestLimitExceeded` (155) when there is no room for the answer, `.invalidQuery` (102) when a batch
    ///   has no room left for it.
    func read<Request: RoomedRequest, Reply: RoomedReply>(
        _ call: Call<Request, Reply>, inRoom message: Request, for principal: Principal, trace: String
    ) async throws(ParseError) -> ServiceReply<Reply> {
        guard let hold = AnswerHold.current else { return try await read(call, message, for: principal, trace: trace) }
        var request = message
        let hasRoom = hold.hasRoom(for: AnswerHold.copies * 2 * Self.usualBytes)
        let left = hold.answerBytesMax ?? .max
        request.answerBytesMax = UInt32(min(hasRoom ? Self.usualBytes : Self.scarceBytes, left))
        var reserved = 0
        for attempt in 0... {
            let reply = try await send(call, request, [], principal, trace, reserved: reserved)
            guard reply.documents.isEmpty else { return reply }
            let needed = Int(try reply.message.bytesNeeded)
            guard needed > 0 else { return reply }
            guard needed <= left else { throw BatchAnswer.full }
            reserved = AnswerHold.copies * needed
            guard hold.take(reserved) else { throw AnswerHold.full }
            request.answerBytesMax = UInt32(attempt < Self.estimates ? needed : hold.answerBytesMax ?? 0)
        }
        throw .internalError  // Never reached: an answer without a bound needs nothing.
    }
}
