import MessageBus
import Messages
import ParseProtocol
import SwiftProtobuf

/// A request that limits its reply to the memory that the gateway has for it.
protocol SizeLimitedRequest: Message, Sendable {
    var answerBytesMax: UInt32 { get set }
}

protocol SizeLimitedReply: Message {
    /// The estimated bytes of a reply over the limit; 0 for a reply within it.
    var bytesNeeded: UInt32 { get }
}

extension FindRequest: SizeLimitedRequest {}
extension FetchRequest: SizeLimitedRequest {}
extension FindReply: SizeLimitedReply {}
extension FetchReply: SizeLimitedReply {}

/// The limit on the size of a reply: first the size of usual replies, then the service's own estimate, which may be too
/// small or too large. No I/O.
package struct ReplySizeLimit {
    /// The size of usual pages in bytes: a thousand products.
    package static let usualBytes = 1 << 20
    /// The limit in bytes when memory is scarce: a page of a shop's app.
    package static let scarceBytes = 256 << 10
    /// Tries with the service's estimate as the limit. The next try has no limit but the batch's.
    private static let estimatesMax = 2

    /// The limit in bytes; 0 for the store's own limit.
    package private(set) var bytesMax: Int
    /// Bytes of memory to reserve before the request is sent.
    package private(set) var reserved = 0
    private let left: Int?
    private var estimates = 0

    /// - Parameters:
    ///   - hasRoom: whether there is plenty of room now.
    ///   - left: the bytes that the response to a batch has left; nil outside of a batch.
    ///   - needed: the estimate of an earlier request; 0 for none.
    package init(hasRoom: Bool, left: Int?, needed: Int = 0) {
        bytesMax = min(hasRoom ? Self.usualBytes : Self.scarceBytes, left ?? .max)
        self.left = left
        if needed > bytesMax { _ = raiseLimit(needed: needed) }
    }

    /// Raises the limit for a reply that is larger than `bytesMax`.
    /// - Parameter needed: the service's estimate in bytes.
    /// - Returns: false when no larger limit is possible.
    package mutating func raiseLimit(needed: Int) -> Bool {
        let most = left ?? .max
        // If the estimate exceeds the batch's rest, the request fails, although the estimate may be too large: trying
        // would load many replies only to drop them.
        guard bytesMax > 0, bytesMax < most, needed <= most else { return false }
        estimates += 1
        bytesMax = estimates > Self.estimatesMax ? left ?? 0 : needed
        reserved = ReplyHold.copies * needed
        return true
    }
}

/// A service sends a large reply only after the gateway has reserved memory for it, because the size is not known
/// beforehand. Otherwise services would make many large replies that the gateway drops.
extension ServiceClient {
    /// Reads within the memory for replies.
    /// - Parameter needed: the estimate of an earlier request in bytes; 0 for none.
    /// - Throws: `.requestLimitExceeded` (155) when there is no memory for the reply, `.invalidQuery` (102) when a
    ///   batch has no bytes left for it.
    func read<Request: SizeLimitedRequest, Reply: SizeLimitedReply>(
        _ call: Call<Request, Reply>, limited message: Request, needed: Int = 0, for principal: Principal,
        in context: CallContext
    ) async throws(ParseError) -> ServiceReply<Reply> {
        guard let hold = context.hold else { return try await read(call, message, for: principal, in: context) }
        var request = message
        var limit = ReplySizeLimit(for: hold, needed: needed)
        while true {
            guard limit.reserved == 0 || hold.take(limit.reserved) else { throw ReplyHold.full }
            request.answerBytesMax = UInt32(limit.bytesMax)
            let reply = try await send(call, request, [], principal, context, reserved: limit.reserved)
            guard reply.documents.isEmpty else { return reply }
            let needed = Int(try reply.message.bytesNeeded)
            guard needed > 0 else { return reply }
            guard limit.raiseLimit(needed: needed) else { throw BatchResponse.full }
        }
    }
}

extension ReplySizeLimit {
    init(for hold: ByteHold, needed: Int = 0) {
        let hasRoom = hold.hasRoom(for: ReplyHold.copies * 2 * Self.usualBytes)
        self.init(hasRoom: hasRoom, left: hold.answerBytesMax, needed: needed)
    }
}
