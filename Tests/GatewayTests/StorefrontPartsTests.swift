import GatewayService
import ParseProtocol
import Testing

/// The parts of the storefront's gateway that decide without I/O.
@Suite struct StorefrontPartsTests {
    // MARK: - Places of pages

    private let limits = NetworkTurns.Limits.pages
    private let flood = ClientNetwork("cb007107")
    private let shopper = ClientNetwork("c6336407")

    @Test func aFloodLeavesPlacesToOthers() {
        var turns = NetworkTurns(.pages)
        for _ in 0..<limits.placesPerNetwork { #expect(turns.enter(flood) == .goesOn) }
        #expect(turns.enter(flood) == .waits(1))
        #expect(turns.enter(shopper) == .goesOn)
        #expect(turns.leave(shopper) == nil, "The network has no more room.")
        #expect(turns.leave(flood) == 1)
    }

    @Test func theNetworkWithTheFewestPagesGoesNext() {
        var turns = NetworkTurns(.pages)
        let others = (1...4).map { ClientNetwork("0a0\($0)0001") }
        for _ in 0..<limits.placesPerNetwork { _ = turns.enter(flood) }
        for number in limits.placesPerNetwork..<limits.places { _ = turns.enter(others[number % 4]) }
        for ticket in 1...9 { #expect(turns.enter(flood) == .waits(UInt64(ticket))) }
        #expect(turns.enter(shopper) == .waits(10))
        #expect(turns.leave(flood) == 10, "The shopper waits for one page only.")
        #expect(turns.leave(flood) == 1)
    }

    @Test func tooManyWaitingPagesAreRefused() {
        var turns = NetworkTurns(.pages)
        for _ in 0..<(limits.placesPerNetwork + limits.waitingPerNetwork) {
            #expect(turns.enter(flood) != .full)
        }
        #expect(turns.enter(flood) == .full)
        #expect(turns.enter(shopper) == .goesOn)
        // All of them run in the end.
        var waiting = limits.waitingPerNetwork
        while turns.leave(flood) != nil { waiting -= 1 }
        #expect(waiting == 0)
    }

    /// Several networks together fill all places: a shopper still waits, in the place of one of their pages.
    @Test func aFullLineMakesRoomForANetworkWithFewPages() {
        var turns = NetworkTurns(.pages)
        let floods = (1...6).map { ClientNetwork("0\($0)000001") }
        var last: NetworkTurns.Entry?
        for number in 0..<3000 { last = turns.enter(floods[number % floods.count]) }
        #expect(last == .full)
        guard case .replaces(let ticket, let refused) = turns.enter(shopper) else {
            Issue.record("The shopper was refused.")
            return
        }
        #expect(ticket > refused)
        #expect(turns.leave(floods[0]) == ticket, "The shopper has the fewest pages.")
        #expect(turns.enter(floods[0]) != .full, "One place is free again.")
    }

    // MARK: - Origins

    @Test(arguments: [
        ("https://shop.example", "shop.example", true), ("http://shop.example", "shop.example", false),
        ("https://shop.example", "10.0.0.7:1337", true), ("http://10.0.0.7:1337", "10.0.0.7:1337", true),
        ("http://10.0.0.7", "10.0.0.7:1337", false), ("http://evil.example", "10.0.0.7:1337", false),
        ("null", "null", false), ("", "", false), ("http://", "", false), ("file://x", "x", false),
    ])
    func aFormIsOfTheShopByItsOrigin(_ origin: String, _ host: String, _ isOwn: Bool) {
        #expect(FormOrigin.isOwn(origin, host: host, shop: "https://shop.example") == isOwn)
    }

    // MARK: - Kept values

    @Test func keptValuesOpenAtTheirPathForAWhile() throws {
        let kept = KeptValues(masterKey: "a-master-key")
        let now = Timestamp.now
        let sealed = try #require(kept.sealed(["=city": "Ulm"], for: ["checkout"], at: now))
        #expect(kept.opened(sealed, for: ["checkout"], at: now) == ["=city": "Ulm"])
        #expect(!sealed.contains("Ulm"))
        #expect(kept.opened(sealed, for: ["bag"], at: now).isEmpty)
        #expect(kept.opened(sealed, for: ["checkout"], at: now.advanced(by: .seconds(601))).isEmpty)
        #expect(KeptValues(masterKey: "another-key").opened(sealed, for: ["checkout"], at: now).isEmpty)
        #expect(kept.opened(String(sealed.dropLast(4)) + "AAAA", for: ["checkout"], at: now).isEmpty)
        #expect(kept.opened("", for: ["checkout"], at: now).isEmpty)
        #expect(kept.sealed([:], for: ["checkout"]) == nil)
    }

    @Test func theLongestTextsAreLeftOut() throws {
        let kept = KeptValues(masterKey: "a-master-key")
        let values = ["problem": "p", "=note": String(repeating: "n", count: 5000), "=city": "Ulm"]
        let sealed = try #require(kept.sealed(values, for: []))
        #expect(kept.opened(sealed, for: []) == ["problem": "p", "=city": "Ulm"])
        #expect(sealed.utf8.count < 3000)
    }

    // MARK: - Photos

    @Test func aPhotoKeepsItsPictureAndDirectionAlone() throws {
        func segment(_ kind: UInt8, _ content: [UInt8]) -> [UInt8] {
            [0xFF, kind, UInt8((content.count + 2) >> 8), UInt8((content.count + 2) & 255)] + content
        }
        let tables = segment(0xDB, [1, 2, 3])
        let scan: [UInt8] = segment(0xDA, [9]) + [0x11, 0xFF, 0x00, 0x22, 0xFF, 0xD0, 0x33]
        let second: [UInt8] = segment(0xC4, [0xFF, 0xD9]) + segment(0xDA, [8]) + [0x44]
        // Little-endian: the direction 6 and a place.
        let secret = Array("SECRET".utf8)
        var exif: [UInt8] = Array("Exif".utf8) + [0, 0]
        exif += Array("II".utf8)
        exif += [42, 0, 8, 0, 0, 0, 2, 0, 0x12, 0x01, 3, 0, 1, 0, 0, 0, 6, 0, 0, 0]
        exif += [0x25, 0x88, 4, 0, 1, 0, 0, 0, 38, 0, 0, 0, 0, 0, 0, 0]
        exif += secret
        let picture: [UInt8] = tables + scan + second + [0xFF, 0xD9]
        var photo: [UInt8] = [0xFF, 0xD8]
        for (kind, content) in [(0xE1, exif), (0xE1, Array("http://ns".utf8)), (0xED, secret), (0xFE, secret)] {
            photo += segment(UInt8(kind), content)
        }
        photo += picture + secret
        let kept = try #require(PhotoMetadata.removed(from: photo))
        #expect(kept.firstRange(of: secret) == nil)
        #expect(kept.firstRange(of: [0x01, 0x12, 0, 3, 0, 0, 0, 1, 0, 6]) != nil)
        #expect(Array(kept.suffix(picture.count)) == picture)
        #expect(PhotoMetadata.removed(from: kept) == kept)
        for length in 0..<photo.count { _ = PhotoMetadata.removed(from: Array(photo.prefix(length))) }
        #expect(PhotoMetadata.removed(from: Array("<script>".utf8)) == nil)
    }
}
