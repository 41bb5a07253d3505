import CatalogService
import ParseProtocol
import Synchronization
import Testing

/// The number of pictures that are made at once.
@Suite struct PictureTurnsTests {
    private final class Counter: Sendable {
        private let counts = Mutex((now: 0, most: 0))
        func begin() { counts.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) } }
        func end() { counts.withLock { $0.now -= 1 } }
        var most: Int { counts.withLock { $0.most } }
        var now: Int { counts.withLock { $0.now } }
    }

    @Test func fewWorkAtOnceAndTheOthersWait() async throws {
        let turns = PictureTurns(runningMax: 2, waitingMax: 100)
        let counter = Counter()
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<50 {
                group.addTask {
                    try await turns.run {
                        counter.begin()
                        await Task.yield()
                        counter.end()
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(counter.most <= 2)
        #expect(counter.now == 0)
    }

    @Test func tooManyAreRefusedAndAFailureFreesItsPlace() async throws {
        let turns = PictureTurns(runningMax: 1, waitingMax: 0)
        try await turns.run {
            do {
                try await turns.run {}
                Issue.record("It ran.")
            } catch let error as ParseError {
                #expect(error.code == .serviceUnavailable)
            }
        }
        await #expect(throws: ParseError.self) {
            try await turns.run { () async throws -> Void in throw ParseError.objectNotFound }
        }
        try await turns.run {}
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
