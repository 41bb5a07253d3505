import MessageBus
import Messages
import ParseProtocol
import Synchronization

/// A page of an export, with its memory reservation, which the last copy releases.
struct ExportPage: Sendable {
    let objects: [JSON]
    /// The cursor of the next page; nil after the last one.
    let next: String?
    /// The size of the page as a service's reply.
    let bytes: Int
    fileprivate let hold: ByteHold?
}

/// The objects of a class in pages by id: concurrent writes make no page skip or repeat an object. A webhook may change
/// the objects of a page, but not the cursor of the next.
struct ExportPages: Sendable {
    let className: String
    let condition: JSON
    let federation: Federation
    let principal: Principal
    private(set) var request: ParseRequest

    /// The pages that are read after the request, at the client's pace: its budget and deadline do not apply to them.
    var afterwards: ExportPages {
        var (pages, context) = (self, request.call)
        (context.budget, context.deadline) = (nil, nil)
        pages.request = request.calling(in: context)
        return pages
    }

    /// - Parameters:
    ///   - cursor: empty for the first page.
    ///   - rows: the limit of objects.
    /// - Throws: `.requestLimitExceeded` (155) when there is no memory for the page now, `.invalidQuery` (102) when it
    ///   is larger than any response may be.
    func page(after cursor: String, rows: Int) async throws(ParseError) -> ExportPage {
        var context = request.call
        context.hold = context.hold?.part()
        let part = request.calling(in: context)
        var options = QueryOptions()
        options.filter = condition.serialized
        options.order = ["objectId"]
        options.limit = rows
        options.after = cursor
        let reply = try await federation.find(className, options, principal, for: part)
        let answer = try JSON(reply: reply, in: context)
        let next = answer["cursor"]?.stringValue ?? cursor
        return ExportPage(
            objects: answer["results"]?.arrayValue ?? [], next: next == cursor ? nil : next, bytes: reply.count,
            hold: context.hold)
    }
}

/// Chooses the number of objects in the next page of an export, by the size of the earlier ones. No I/O.
package struct ExportPageSize {
    /// For the first page, whose objects may have any size.
    package static let rowsAtFirst = 10
    package static let rowsMax = 500
    /// The target size of a page: less than a response that needs reserved memory (`ReplySizeLimit`).
    private static let bytes = 512 << 10

    package private(set) var rows = Self.rowsAtFirst

    package init() {}

    /// Records a received page.
    package mutating func came(rows count: Int, bytes: Int) {
        guard count > 0 else { return }
        rows = max(1, min(Self.rowsMax, Self.bytes / max(1, bytes / count)))
    }

    /// Records that a page was larger than a response may be: large objects follow small ones.
    /// - Returns: whether a smaller page should be tried.
    package mutating func wasTooLarge() -> Bool {
        guard rows > Self.rowsAtFirst else { return false }
        rows = Self.rowsAtFirst
        return true
    }
}

/// The slots of concurrent exports: each is held until its client has read the file.
final class ExportSlots: Sendable {
    /// Enough for copying several classes at once, and for several operators.
    private let shares = Mutex(ConnectionShares(max: 16, perNetwork: 4))

    /// A slot, released with its last copy.
    final class Slot: Sendable {
        private let slots: ExportSlots
        private let caller: ClientNetwork

        fileprivate init(_ slots: ExportSlots, _ caller: ClientNetwork) {
            (self.slots, self.caller) = (slots, caller)
        }

        deinit { slots.shares.withLock { $0.leave(caller) } }
    }

    /// - Parameter caller: a user's id, or the network of a caller with a key.
    /// - Throws: `.requestLimitExceeded` (155) when too many exports run, of the caller or in total.
    func take(_ caller: String) throws(ParseError) -> Slot {
        let caller = ClientNetwork(caller)
        guard shares.withLock({ $0.enter(caller) }) else {
            throw .tooManyRequests("Too many exports are under way. Try again later.", retryAfterSeconds: 5)
        }
        return Slot(self, caller)
    }
}
