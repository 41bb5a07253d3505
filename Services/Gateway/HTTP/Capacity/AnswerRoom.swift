import MessageBus
import Messages
import ParseProtocol
import SwiftProtobuf

/// A request whose answer may be large: it limits the answer to the memory that the gateway has for it.
protocol RoomedRequest: Message, Sendable {
    var answerBytesMax: UInt32 { get set }
}

protocol RoomedReply: Message {
    /// The estimated bytes of an answer over the limit; 0 for an answer within it.
    var bytesNeeded: UInt32 { get }
}

extension FindRequest: RoomedRequest {}
extension FetchRequest: RoomedRequest {}
extension FindReply: RoomedReply {}
extension FetchReply: RoomedReply {}

/// The limit on the size of an answer that a service is asked for: first the size of usual answers, then the service's
/// own estimate, which may be too small or too large. Pure.
package struct AnswerRoom {
    /// The size of usual pages in bytes: a thousand products.
    package static let usualBytes = 1 << 20
    /// The limit in bytes when memory is scarce: a page of a shop's app.
    package static let scarceBytes = 256 << 10
    /// Requests limited by the service's estimate, which may be too small. The request after them has the largest
    /// possible limit.
    private static let estimatesMax = 2

    /// The limit in bytes; 0 for the store's own limit.
    package private(set) var bytesMax: Int
    /// Bytes of the memory for answers to reserve before the request.
    package private(set) var reserved = 0
    private let left: Int?
    private var estimates = 0

    /// - Parameters:
    ///   - hasRoom: whether there is plenty of room now.
    ///   - left: the bytes that the answer of a batch has left; nil outside of a batch.
    ///   - needed: the estimate of an earlier request; 0 for none.
    package init(hasRoom: Bool, left: Int?, needed: Int = 0) {
        bytesMax = min(hasRoom ? Self.usualBytes : Self.scarceBytes, left ?? .max)
        self.left = left
        if needed > bytesMax { _ = outgrown(needed: needed) }
    }

    /// The answer is larger than `bytesMax`.
    /// - Parameter needed: the service's estimate in bytes.
    /// - Returns: false when no larger limit is possible.
    package mutating func outgrown(needed: Int) -> Bool {
        let most = left ?? .max
        // An answer that exceeds the limit of a batch by its estimate might fit. Trying it would let a batch make
        // thirty answers of 32 MiB that do not fit.
        guard bytesMax > 0, bytesMax < most, needed <= most else { return false }
        estimates += 1
        bytesMax = estimates > Self.estimatesMax ? left ?? 0 : needed
        reserved = AnswerHold.copies * needed
        return true
    }
}

/// The size of an answer is not known before it is made. So a service makes a large answer only when the gateway has
/// reserved memory for it: else many large answers at once would all be made, sent to the gateway and dropped.
extension ServiceClient {
    /// Reads within the memory for answers.
    /// - Parameter needed: the estimate of an earlier request in bytes; 0 for none.
    /// - Throws: `.requestLimitExceeded` (155) when there is no room for the answer, `.invalidQuery` (102) when a batch
    ///   has no room left for it.
    func read<Request: RoomedRequest, Reply: RoomedReply>(
        _ call: Call<Request, Reply>, inRoom message: Request, needed: Int = 0, for principal: Principal,
        in context: CallContext
    ) async throws(ParseError) -> ServiceReply<Reply> {
        guard let hold = context.hold else { return try await read(call, message, for: principal, in: context) }
        var request = message
        var room = AnswerRoom(for: hold, needed: needed)
        while true {
            guard room.reserved == 0 || hold.take(room.reserved) else { throw AnswerHold.full }
            request.answerBytesMax = UInt32(room.bytesMax)
            let reply = try await send(call, request, [], principal, context, reserved: room.reserved)
            guard reply.documents.isEmpty else { return reply }
            let needed = Int(try reply.message.bytesNeeded)
            guard needed > 0 else { return reply }
            guard room.outgrown(needed: needed) else { throw BatchAnswer.full }
        }
    }
}

extension AnswerRoom {
    init(for hold: ByteHold, needed: Int = 0) {
        let hasRoom = hold.hasRoom(for: AnswerHold.copies * 2 * Self.usualBytes)
        self.init(hasRoom: hasRoom, left: hold.answerBytesMax, needed: needed)
    }
}
