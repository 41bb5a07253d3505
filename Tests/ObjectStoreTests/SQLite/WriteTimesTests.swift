import ObjectStore
import Testing

@Suite struct WriteTimesTests {
    private struct Write: QueuedWrite {
        let client = WorkClient.shop
        let weight: Int
    }

    /// A transaction that runs again is charged once; the transactions of the group before it stay charged.
    @Test func anUndoneTransactionIsNotCharged() {
        var times = WriteTimes()
        times.begin()
        times.resume()
        times.ended(Write(weight: 1))
        times.resume()
        times.ended(Write(weight: 2))
        times.undo()
        times.resume()
        times.ended(Write(weight: 3))
        #expect(times.entries.map { $0.weight } == [1, 3])
    }
}
