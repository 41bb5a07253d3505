import CloudService
import Testing

/// The queues of cloud code's requests.
@Suite struct CodeRequestQueueTests {
    private typealias Line = CodeRequestQueue<String, Int>

    /// A queue with the maximum number of requests of one call in progress.
    private func full(_ key: String) -> Line {
        var line = Line()
        for ask in 0..<Line.underWayMax { #expect(line.add(ask, bytes: 1, of: key) == .send) }
        return line
    }

    @Test func eachCallHasALineOfItsOwn() {
        var line = full("a")
        #expect(line.add(100, bytes: 1, of: "a") == .wait)
        #expect(line.add(200, bytes: 1, of: "b") == .send)
        #expect(line.answered(of: "b") == nil)
        #expect(line.answered(of: "a") == 100)
        #expect(line.answered(of: "a") == nil)
        #expect(line.add(101, bytes: 1, of: "a") == .send)
    }

    @Test func whatWaitsIsBoundedByItsSize() {
        var line = full("a")
        #expect(line.add(100, bytes: Line.waitingBytesMax, of: "a") == .wait)
        #expect(line.add(101, bytes: 1, of: "a") == .refuse)
        #expect(line.add(200, bytes: 1, of: "b") == .send, "It need not wait.")
        #expect(line.answered(of: "a") == 100)
        #expect(line.add(102, bytes: Line.waitingBytesMax, of: "a") == .wait)
        line.forget { $0 == "a" }
        for ask in 0..<Line.underWayMax { #expect(line.add(ask, bytes: 1, of: "c") == .send) }
        #expect(line.add(300, bytes: Line.waitingBytesMax, of: "c") == .wait, "What was forgotten waits no more.")
    }
}

/// A run that has ended keeps what its late requests need, and not its text, which may have megabytes.
@Suite struct EndedRunTests {
    @Test func anEndedRunKeepsNoText() {
        var ended = EndedRuns()
        for id in 1...300 {
            var run = CodeRun(name: "many", depth: 1, text: Array("{}".utf8), deadline: 0)
            run.traceId = "t\(id)"
            ended.add(PoolMachine.RunID(id), run)
        }
        #expect(ended[300]?.traceId == "t300")
        #expect(ended[300]?.text.isEmpty == true)
        #expect(ended[1] == nil)
    }
}
