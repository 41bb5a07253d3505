import Foundation
import MessageBus
import Testing

/// Items passed to a thread that owns sockets.
struct ThreadMailboxTests {
    /// Wake-ups since the last count.
    private static func wakeUps(of mailbox: ThreadMailbox<Int>) -> UInt64 {
        var count: UInt64 = 0
        return read(mailbox.wakeDescriptor, &count, MemoryLayout<UInt64>.size) > 0 ? count : 0
    }

    @Test func ownerThatSleepsIsWokenOnceForAll() throws {
        let mailbox = try ThreadMailbox<Int>()
        #expect(mailbox.prepareToSleep())
        #expect(mailbox.post(contentsOf: [1, 2, 3]))
        #expect(mailbox.post(contentsOf: [4]))
        #expect(Self.wakeUps(of: mailbox) == 1)
        var items: [Int] = []
        mailbox.drain(into: &items)
        #expect(items == [1, 2, 3, 4])
    }

    @Test func anEmptyBatchCausesNoWakeUp() throws {
        let mailbox = try ThreadMailbox<Int>()
        #expect(mailbox.prepareToSleep())
        #expect(mailbox.post(contentsOf: []))
        #expect(Self.wakeUps(of: mailbox) == 0)
        #expect(mailbox.prepareToSleep())
    }

    @Test func ownerThatStoppedTakesNone() throws {
        let mailbox = try ThreadMailbox<Int>()
        #expect(mailbox.post(contentsOf: [1, 2]))
        #expect(mailbox.close() == [1, 2])
        #expect(!mailbox.post(contentsOf: [3, 4]))
        #expect(mailbox.close().isEmpty)
    }

    @Test func itemsOfOnePostStayTogether() throws {
        let mailbox = try ThreadMailbox<Int>()
        let (posts, size) = (200, 8)
        DispatchQueue.concurrentPerform(iterations: posts) { post in
            mailbox.post(contentsOf: (0..<size).map { post * size + $0 })
        }
        var items: [Int] = []
        mailbox.drain(into: &items)
        #expect(items.count == posts * size)
        let areTogether = stride(from: 0, to: items.count, by: size).allSatisfy { first in
            items[first] % size == 0 && items[first..<first + size].elementsEqual(items[first]..<items[first] + size)
        }
        #expect(areTogether)
    }
}
