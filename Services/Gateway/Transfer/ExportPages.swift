import MessageBus
import Messages
import ParseProtocol
import Synchronization

/// A page of an export, and the room that it takes until the last copy of this is gone.
struct ExportPage: Sendable {
    let objects: [JSON]
    /// Where the next page begins; nil when nothing came any more.
    let next: String?
    /// Bytes that it had as a service's reply.
    let bytes: Int
    fileprivate let hold: ByteHold?
}

/// The objects of a class in pages by id: what others write meanwhile makes no page skip or repeat an object. A webhook
/// has its say in each page and none in where the next one begins.
struct ExportPages: Sendable {
    let className: String
    let condition: JSON
    let federation: Federation
    let principal: Principal
    let request: ParseRequest
    /// The export's part of the memory for answers; nil where nobody counts.
    let hold: ByteHold?

    /// - Parameters:
    ///   - cursor: empty for the first page.
    ///   - rows: objects at most.
    /// - Throws: `.requestLimitExceeded` (155) when there is no room for the page now, `.invalidQuery` (102) when it is
    ///   larger than any answer.
    func page(after cursor: String, rows: Int) async throws(ParseError) -> ExportPage {
        let part = hold?.part()
        do {
            // The body of an answer is made when the task-local value of its request is gone.
            return try await AnswerHold.$current.withValue(part) { try await read(after: cursor, rows, part) }
        } catch let error as ParseError {
            throw error
        } catch {
            throw .internalError
        }
    }

    private func read(after cursor: String, _ rows: Int, _ part: ByteHold?) async throws(ParseError) -> ExportPage {
        var options = QueryOptions()
        options.filter = condition.serialized
        options.order = ["objectId"]
        options.limit = rows
        options.after = cursor
        let reply = try await federation.find(className, options, principal, for: request)
        let answer = try JSON(reply: reply)
        let next = answer["cursor"]?.stringValue ?? cursor
        return ExportPage(
            objects: answer["results"]?.arrayValue ?? [], next: next == cursor ? nil : next, bytes: reply.count,
            hold: part)
    }
}

/// Decides how many objects the next page of an export asks for, by how large those before were. Pure.
package struct ExportPageSize {
    /// Of the first page, whose objects may be as large as any.
    package static let rowsAtFirst = 10
    package static let rowsMax = 500
    /// What a page is meant to have: less than an answer that needs room set aside (`AnswerRoom`).
    private static let bytes = 512 << 10

    package private(set) var rows = Self.rowsAtFirst

    package init() {}

    /// A page came.
    package mutating func came(rows count: Int, bytes: Int) {
        guard count > 0 else { return }
        rows = max(1, min(Self.rowsMax, Self.bytes / max(1, bytes / count)))
    }

    /// A page was larger than an answer may be: the objects after small ones are large.
    /// - Returns: whether it is worth asking for fewer.
    package mutating func wasTooLarge() -> Bool {
        guard rows > Self.rowsAtFirst else { return false }
        rows = Self.rowsAtFirst
        return true
    }
}

/// The places of exports that run at a time: each may last as long as its client takes to read it.
final class ExportPlaces: Sendable {
    /// As many classes as somebody copies side by side; and of several operators.
    private let shares = Mutex(ConnectionShares(max: 16, perNetwork: 4))

    /// A place, free again when the last copy of it is gone.
    final class Place: Sendable {
        private let places: ExportPlaces
        private let caller: [UInt8]

        fileprivate init(_ places: ExportPlaces, _ caller: [UInt8]) { (self.places, self.caller) = (places, caller) }

        deinit { places.shares.withLock { $0.leave(caller) } }
    }

    /// - Parameter caller: a user's id, or the network of who comes with a key.
    /// - Throws: `.requestLimitExceeded` (155) when too many exports run, of the caller or of all.
    func take(_ caller: String) throws(ParseError) -> Place {
        let caller = Array(caller.utf8)
        guard shares.withLock({ $0.enter(caller) }) else {
            throw .tooManyRequests("Too many exports are under way. Try again later.", retryAfterSeconds: 5)
        }
        return Place(self, caller)
    }
}
