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

/// The size of the answer that a service is asked to make: first as large as usual ones are, then as the service says,
/// which is an estimate, too small or too large. Pure.
package struct AnswerRoom {
    /// Bytes that usual pages take: a thousand products.
    package static let usualBytes = 1 << 20
    /// Bytes that are asked for when there is hardly any room: a page of a shop's app.
    package static let scarceBytes = 256 << 10
    /// An estimate may be too small; the last time as much is asked for as there may be.
    private static let estimatesMax = 2

    /// Bytes that the answer may have; 0 for as many as the store allows.
    package private(set) var bytesMax: Int
    /// Bytes that it may take of the memory for answers before it is asked for.
    package private(set) var reserved = 0
    private let left: Int?
    private var estimates = 0

    /// - Parameters:
    ///   - hasRoom: whether there is plenty of room now.
    ///   - left: the bytes that a batch has left for it; nil for what is in none.
    ///   - needed: 0, or what the service said that it needs when it was asked before.
    package init(hasRoom: Bool, left: Int?, needed: Int = 0) {
        bytesMax = min(hasRoom ? Self.usualBytes : Self.scarceBytes, left ?? .max)
        self.left = left
        if needed > bytesMax { _ = outgrown(needed: needed) }
    }

    /// The answer is larger than `bytesMax`.
    /// - Parameter needed: what the service says that it needs.
    /// - Returns: false when nothing larger can be asked for.
    package mutating func outgrown(needed: Int) -> Bool {
        let most = left ?? .max
        // What passes the bound of a batch by an estimate alone might fit. To try it would let a batch make thirty
        // answers that do not, of 32 MiB each.
        guard bytesMax > 0, bytesMax < most, needed <= most else { return false }
        estimates += 1
        bytesMax = estimates > Self.estimatesMax ? left ?? 0 : needed
        reserved = AnswerHold.copies * needed
        return true
    }
}

/// Nobody knows how large an answer will be before it is made. So a service makes a large one only once there is room
/// for it in the gateway: many clients who ask for large answers at once would else have them all made, moved and
/// thrown away.
extension ServiceClient {
    /// Reads without making more than there is room for.
    /// - Parameter needed: 0, or the bytes of the answer as the service estimated them before.
    /// - Throws: `.requestLimitExceeded` (155) when there is no room for the answer, `.invalidQuery` (102) when a batch
    ///   has no room left for it.
    func read<Request: RoomedRequest, Reply: RoomedReply>(
        _ call: Call<Request, Reply>, inRoom message: Request, needed: Int = 0, for principal: Principal, trace: String
    ) async throws(ParseError) -> ServiceReply<Reply> {
        guard let hold = AnswerHold.current else { return try await read(call, message, for: principal, trace: trace) }
        var request = message
        var room = AnswerRoom(for: hold, needed: needed)
        while true {
            guard room.reserved == 0 || hold.take(room.reserved) else { throw AnswerHold.full }
            request.answerBytesMax = UInt32(room.bytesMax)
            let reply = try await send(call, request, [], principal, trace, reserved: room.reserved)
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
