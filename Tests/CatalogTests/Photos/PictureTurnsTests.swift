import CatalogService
import ParseProtocol
import Testing

/// The order in which pictures are made, and their types.
@Suite struct PictureTurnsTests {
    @Test func aFloodLeavesTheNextTurnToOthers() {
        let (flood, shopper) = (ClientNetwork("cb007107"), ClientNetwork("c6336407"))
        var turns = NetworkTurns(.pictures)
        for _ in 1...2 { #expect(turns.enter(flood) == .goesOn) }
        for ticket in 1...32 { #expect(turns.enter(flood) == .waits(UInt64(ticket))) }
        #expect(turns.enter(flood) == .full)
        #expect(turns.enter(shopper) == .waits(33))
        #expect(turns.leave(flood) == 33, "The shopper waits for one picture only.")
        #expect(turns.leave(flood) == 1)
    }

    @Test(
        arguments: [
            ("/x: 40x30 uchar, 3 bands, srgb, jpegload", false, false),
            ("/x: 40x30 uchar, 4 bands, srgb, pngload", true, true),
            ("/x: 40x30 uchar, 1 band, b-w, pngload", true, false),
            ("/x: 40x30 uchar, 4 bands, srgb, webpload", false, true),
        ] as [(String, Bool, Bool)])
    func theTypeFollowsTheHeader(_ line: String, _ isPNG: Bool, _ hasAlpha: Bool) throws {
        let header = try #require(PhotoHeader(line))
        #expect(header.isPNG == isPNG)
        #expect(header.hasAlpha == hasAlpha)
    }
}
