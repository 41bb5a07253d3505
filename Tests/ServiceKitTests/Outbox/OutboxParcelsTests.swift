import ServiceKit
import Testing

/// Which outbox messages are sent together. No I/O.
@Suite struct OutboxParcelsTests {
    private func packed(_ messages: [(bytes: Int, attempts: Int)]) -> [[Int]] { OutboxParcels.packed(messages) }

    @Test func whatWasNeverTriedTravelsTogetherInItsOrder() {
        #expect(packed([]) == [])
        #expect(packed([(10, 0)]) == [[0]])
        #expect(packed([(10, 0), (10, 0), (10, 0)]) == [[0, 1, 2]])
    }

    @Test func whatFailedOnceTravelsAlone() {
        #expect(packed([(10, 1), (10, 0), (10, 7), (10, 0)]) == [[1, 3], [0], [2]])
        #expect(packed([(10, 1), (10, 2)]) == [[0], [1]])
    }

    @Test func noMoreTravelsTogetherThanMay() {
        let most = OutboxParcels.messagesMax
        #expect(packed(Array(repeating: (10, 0), count: most)) == [Array(0..<most)])
        #expect(packed(Array(repeating: (10, 0), count: most + 1)) == [Array(0..<most)])
    }

    /// No message overtakes a waiting one, so that all arrive in order.
    @Test func whatIsTooLargeForTheParcelWaitsWithAllBehindIt() {
        let most = OutboxParcels.bytesMax
        #expect(packed([(most - 1, 0), (1, 0), (1, 0)]) == [[0, 1]])
        #expect(packed([(1, 0), (most, 0), (1, 0), (5, 3)]) == [[0], [3]])
    }

    @Test func aMessageThatIsLargerThanAParcelTravelsAlone() {
        let most = OutboxParcels.bytesMax
        #expect(packed([(2 * most, 0), (1, 0)]) == [[0]])
    }
}
