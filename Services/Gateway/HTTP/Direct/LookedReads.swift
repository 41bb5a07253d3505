import HTTPTypes
import Synchronization

/// The knowledge of a read of objects before its route begins: the read cache was looked into, its options were
/// decoded, or the service was asked and has more than is answered on the way of plain reads. Of a download it is the
/// answer, which begins with what the service brought.
final class LookedRead: Sendable {
    /// `found` also for a large answer that was not kept: it is made once.
    let look: ReadCache.Look
    /// Nil when they are still to be decoded.
    let options: QueryOptions?
    /// The memory that the answer is held in; nil where nobody was asked.
    let hold: ByteHold?
    /// 0, or the bytes that the answer takes, as the service estimates it.
    let bytesNeeded: Int

    init(_ look: ReadCache.Look, options: QueryOptions? = nil, hold: ByteHold? = nil, bytesNeeded: Int = 0) {
        self.look = look
        self.options = options
        self.hold = hold
        self.bytesNeeded = bytesNeeded
    }
}

/// The findings on the way of plain reads about those that go on to the way of all requests, so that it is not
/// found out twice.
///
/// The request's head has the number of a place here, as a pseudo-header that HTTP/1 has not, so that no client can
/// send one. Nobody asks for what belongs to a connection that ended in between: a later read takes its place, and a
/// large answer is taken away by its connection's end.
final class LookedReads: Sendable {
    /// More than that go on at a time only under a load where the last of them may as well look twice.
    private static let placesMax = 256

    private struct Place {
        var number = 0
        var read: LookedRead?
    }

    private struct State {
        var places = [Place](repeating: Place(), count: LookedReads.placesMax)
        var last = 0
    }

    private let state = Mutex(State())

    /// Leaves what is known with the head of the request.
    func leave(_ read: LookedRead, with head: inout HTTPRequest) {
        let number = state.withLock { state in
            state.last += 1
            state.places[state.last % Self.placesMax] = Place(number: state.last, read: read)
            return state.last
        }
        head.extendedConnectProtocol = String(number)
    }

    /// Takes what was left with the head; nil for one that came straight from a client.
    func take(_ head: HTTPRequest) -> LookedRead? {
        guard let number = head.extendedConnectProtocol.flatMap({ Int($0) }) else { return nil }
        return state.withLock { state in
            let place = number % Self.placesMax
            guard state.places[place].number == number else { return nil }
            return state.places[place].read.take()
        }
    }
}
