import GatewayService
import Testing

/// The maximum answer size that the gateway gives a service.
struct ReplySizeLimitTests {
    private let mebibyte = 1 << 20

    /// The limits that the gateway gives when the answers need these sizes, and whether the last answer is refused.
    private func asked(_ first: ReplySizeLimit, needed: Int...) -> (rooms: [ReplySizeLimit], isRefused: Bool) {
        var rooms = [first]
        for bytes in needed {
            var room = rooms[rooms.count - 1]
            guard room.raiseLimit(needed: bytes) else { return (rooms, true) }
            rooms.append(room)
        }
        return (rooms, false)
    }

    @Test func usualAnswersNeedNoRoomSetAside() {
        #expect(ReplySizeLimit(hasRoom: true, left: nil).bytesMax == ReplySizeLimit.usualBytes)
        #expect(ReplySizeLimit(hasRoom: false, left: nil).bytesMax == ReplySizeLimit.scarceBytes)
        #expect(ReplySizeLimit(hasRoom: true, left: 70_000).bytesMax == 70_000)
        #expect(ReplySizeLimit(hasRoom: true, left: nil).reserved == 0)
    }

    @Test func whatTheServiceSaidBeforeIsTheFirstBound() {
        let room = ReplySizeLimit(hasRoom: true, left: nil, needed: 3 * mebibyte)
        #expect(room.bytesMax == 3 * mebibyte)
        #expect(room.reserved == 6 * mebibyte)
        #expect(ReplySizeLimit(hasRoom: true, left: nil, needed: 70_000).bytesMax == ReplySizeLimit.usualBytes)
    }

    @Test func estimatesAreFollowedTwice() {
        let room = ReplySizeLimit(hasRoom: true, left: nil)
        let answer = asked(room, needed: 2 * mebibyte, 3 * mebibyte, 4 * mebibyte, 5 * mebibyte)
        // 0 means the store's own limit.
        #expect(answer.rooms.map(\.bytesMax) == [mebibyte, 2 * mebibyte, 3 * mebibyte, 0])
        #expect(answer.rooms.map(\.reserved) == [0, 4 * mebibyte, 6 * mebibyte, 8 * mebibyte])
        #expect(answer.isRefused)
    }

    /// Thirty finds of a batch that each slightly exceed the remaining room produce no result.
    @Test func resultsOverABatchLimitAreNotComputed() {
        let room = ReplySizeLimit(hasRoom: true, left: 32 * mebibyte - 1)
        #expect(asked(room, needed: 32 * mebibyte).rooms.map(\.bytesMax) == [mebibyte])
        #expect(asked(room, needed: 32 * mebibyte).isRefused)
        #expect(asked(room, needed: 32 * mebibyte - 1).rooms.map(\.bytesMax) == [mebibyte, 32 * mebibyte - 1])
    }

    @Test func whatIsLeftOfABatchIsNeverPassed() {
        let room = ReplySizeLimit(hasRoom: true, left: 5 * mebibyte)
        let estimates = asked(room, needed: 2 * mebibyte, 3 * mebibyte, 4 * mebibyte, 6 * mebibyte)
        #expect(estimates.rooms.map(\.bytesMax) == [1, 2, 3, 5].map { $0 * mebibyte })
        #expect(estimates.isRefused)
        #expect(asked(ReplySizeLimit(hasRoom: true, left: 70_000), needed: mebibyte).isRefused)
    }
}
