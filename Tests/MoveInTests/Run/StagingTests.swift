import ParseProtocol
import Testing

@testable import MoveIn

/// The decisions about rows: which are sent, in which requests, and when a request is repeated.
@Suite struct StagingTests {
    @Test func aRowIsALineAndItsChecksumCoversTheText() throws {
        let line = try #require(RowLine(MovedRow("Item", "a1", ["b": "x\ty\n", "a": 1], updatedAt: 5)))
        let text = #"{"a":1,"b":"x\ty\n","objectId":"a1"}"#
        #expect(String(decoding: line.bytes, as: UTF8.self) == "a1\t5\t\(text)\n")
        // The last 16 digits of the SHA-256 of "abc".
        #expect(RowLine.checksum(Array("abc".utf8)) == 0xB410_FF61_F200_15AD)
        #expect(RowLine(MovedRow("Item", "a\tb")) == nil)
        #expect(RowLine(MovedRow("Item", "")) == nil)
        #expect(RowLine(MovedRow("_Join:users:_Role", "r1:u1")) != nil)
        #expect(RowLine(MovedRow("_Join:users:_Role", "r1:")) == nil)
    }

    @Test func stagedRowsAreComparedAndMissingOnesFound() {
        var staged = StagedRows(expecting: 3)
        for id: UInt64 in [7, 3, 5] { staged.add(id: id, checksum: id * 10) }
        staged.sort()
        #expect(staged.meet(id: 3, checksum: 30) == .same)
        #expect(staged.meet(id: 5, checksum: 51) == .changed)
        #expect(staged.meet(id: 4, checksum: 40) == .new)
        #expect(staged.missingCount == 1)
        #expect(staged.isMissing(id: 7) && !staged.isMissing(id: 5) && !staged.isMissing(id: 4))
    }

    @Test func idsOfOneHashAreToldApartByTheChecksum() {
        var staged = StagedRows(expecting: 0)
        staged.add(id: 1, checksum: 10)
        staged.add(id: 1, checksum: 11)
        staged.sort()
        #expect(staged.meet(id: 1, checksum: 11) == .same)
        #expect(staged.missingCount == 1)
        #expect(staged.meet(id: 1, checksum: 12) == .changed)
        #expect(staged.missingCount == 0)
    }

    @Test func batchesKeepTheSuitesLimits() throws {
        var batches = Batches()
        #expect(batches.take() == nil)
        let small = try #require(RowLine(MovedRow("Item", "a1")))
        for _ in 0..<Batches.rowsMax { #expect(batches.add(small) == nil) }
        #expect(batches.add(small)?.rows == Batches.rowsMax)
        #expect(batches.take() == Batch(rows: 1, bytes: small.bytes))

        let text = String(repeating: "x", count: 1_500_000)
        let large = try #require(RowLine(MovedRow("Item", "a1", ["text": .string(text)])))
        #expect(batches.add(large) == nil)
        #expect(batches.add(large) == nil)
        let added = batches.add(large)
        let full = try #require(added)
        #expect(full.rows == 2)
        #expect(full.halves?.0.bytes == large.bytes && full.halves?.1.bytes == large.bytes)
        #expect(full.halves?.0.halves == nil && full.firstId == "a1")
    }

    @Test func aRequestIsRepeatedForAMinuteAtMost() {
        let pauses = (1...Retry.attemptsMax).map { Retry.pause(after: $0, asked: nil) }
        #expect(pauses[0] == .milliseconds(250))
        #expect(pauses[Retry.attemptsMax - 1] == nil)
        #expect(pauses.compactMap(\.self).allSatisfy { $0 <= .seconds(15) })
        #expect(Retry.pause(after: 1, asked: 3) == .seconds(3))
        #expect(Retry.pause(after: 1, asked: 10_000) == .seconds(30))
    }

    @Test func aPageOfAnotherFormIsRefused() throws {
        let page = try StagedPage(parsing: Array("a\t5\t00000000000000ff\nb\t0\tffffffffffffffff\n".utf8))
        #expect(page.rows.map { $0.id } == ["a", "b"])
        #expect(page.rows.map { $0.checksum } == [255, .max])
        for text in ["a\t5\n", "a\t5\tx\n", "<html>"] {
            #expect(throws: MoveInError.self) { try StagedPage(parsing: Array(text.utf8)) }
        }
    }
}
