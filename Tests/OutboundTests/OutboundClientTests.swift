import Outbound
import ParseProtocol
import TestSupport
import Testing

/// A provider's answers, and the client's results. A request that may have arrived is never reported as unsent.
@Suite struct OutboundClientTests {
    private let client = OutboundClient()

    private func failure(_ request: OutboundRequest) async -> OutboundFailure? {
        do throws(OutboundFailure) {
            _ = try await client.send(request)
            return nil
        } catch {
            return error
        }
    }

    @Test func everyVerbArrivesWithItsHeadersAndBody() async throws {
        try await Peer.with("http_answers.py") { peer in
            for method in [OutboundRequest.Method.get, .post, .put, .delete] {
                let body = method == .get ? [] : Array(#"{"amount":350}"#.utf8)
                let response = try await client.send(
                    OutboundRequest(
                        method, peer.url + "/echo", headers: [("Content-Type", "application/json"), ("X-Key", "k1")],
                        body: body))
                let seen = try JSON(parsing: response.body)
                #expect(response.status == 200)
                #expect(response.headers["content-type"] == "application/json")
                #expect(seen["method"] == .string(method.rawValue))
                #expect(seen["headers"]?["X-Key"] == "k1")
                #expect(seen["headers"]?["Content-Type"] == "application/json")
                #expect(seen["body"] == .string(String(decoding: body, as: UTF8.self)))
            }
        }
    }

    @Test func connectionsAreUsedAgain() async throws {
        try await Peer.with("http_answers.py") { peer in
            for _ in 0..<10 { _ = try await client.send(OutboundRequest(.put, peer.url + "/echo")) }
            #expect(Set(peer.reports().compactMap { $0["connection"]?.intValue }).count == 1)
        }
    }

    /// libcurl itself repeats a request when a kept connection turns out to be closed.
    @Test func onlyWhatIsRepeatableIsRepeatedOnAKeptConnection() async throws {
        try await Peer.with("http_answers.py") { peer in
            for isRepeatable in [false, true] {
                _ = try await client.send(OutboundRequest(.get, peer.url + "/echo"))
                var request = OutboundRequest(.post, peer.url + "/close/\(isRepeatable)")
                request.isRepeatable = isRepeatable
                #expect(await failure(request)?.reason == .broken)
                let arrived = peer.reports().filter { $0["path"] == .string("/close/\(isRepeatable)") }.count
                #expect(isRepeatable ? arrived > 1 : arrived == 1)
            }
        }
    }

    @Test func manyRequestsAtOnceAreAllAnswered() async throws {
        try await Peer.with("http_answers.py") { peer in
            let statuses = await withTaskGroup(of: Int?.self) { group in
                for _ in 0..<200 {
                    group.addTask { try? await client.send(OutboundRequest(.post, peer.url + "/echo")).status }
                }
                return await group.reduce(into: []) { $0.append($1) }
            }
            #expect(statuses == Array(repeating: 200, count: 200))
            // Each request arrived once. A POST that must not be repeated uses a new connection.
            #expect(peer.reports().count == 200)
        }
    }

    @Test func errorsOfTheServerAreAnswers() async throws {
        try await Peer.with("http_answers.py") { peer in
            for status in [400, 404, 429, 500, 503] {
                let response = try await client.send(OutboundRequest(.get, "\(peer.url)/status/\(status)"))
                #expect(response.status == status)
            }
        }
    }

    @Test func unsentRequestsAreReported() async throws {
        // Nothing listens on port 1.
        let refused = await failure(OutboundRequest(.post, "http://127.0.0.1:1/"))
        #expect(refused?.reason == .unreachable)
        #expect(refused?.wasNotSent == true)
        let unknown = await failure(OutboundRequest(.post, "http://no-such-host.invalid/"))
        #expect(unknown?.reason == .unreachable)
        #expect(unknown?.wasNotSent == true)
        for url in ["file:///etc/passwd", "gopher://127.0.0.1/", "", "http://"] {
            let bad = await failure(OutboundRequest(.get, url))
            #expect(bad?.reason == .refused, "\(url)")
            #expect(bad?.wasNotSent == true)
        }
        let split = await failure(OutboundRequest(.get, "http://127.0.0.1:1/", headers: [("X-A", "1\r\nX-B: 2")]))
        #expect(split?.reason == .refused)
    }

    @Test(arguments: [
        ("garbage", OutboundFailure.Reason.broken), ("half", .broken), ("close", .broken), ("slow/5", .timedOut),
    ])
    func possiblySentRequestsAreNotReportedUnsent(path: String, reason: OutboundFailure.Reason) async throws {
        let timeout: Duration = reason == .timedOut ? .milliseconds(500) : .seconds(30)
        try await Peer.with("http_answers.py") { peer in
            let failure = await failure(OutboundRequest(.post, "\(peer.url)/\(path)", body: [1], timeout: timeout))
            #expect(failure?.reason == reason)
            #expect(failure?.wasNotSent == false)
        }
    }

    @Test func anAnswerThatIsTooLargeIsRefused() async throws {
        try await Peer.with("http_answers.py") { peer in
            var request = OutboundRequest(.get, "\(peer.url)/large/2000")
            request.answerBytesMax = 1999
            #expect(await failure(request)?.reason == .answerTooLarge)
            request.answerBytesMax = 2000
            let response = try await client.send(request)
            #expect(response.body.count == 2000)
        }
    }

    @Test func aCancelledTaskEndsItsTransfer() async throws {
        try await Peer.with("http_answers.py") { peer in
            let task = Task { await failure(OutboundRequest(.get, "\(peer.url)/slow/30")) }
            try await eventually("the request arrived") { !peer.reports().isEmpty }
            let meter = StallMeter()
            task.cancel()
            #expect(await task.value?.reason == .cancelled)
            // The answer would come after 30 s.
            #expect(meter.elapsed < .seconds(20))
        }
    }
    @Test func aTaskThatIsCancelledAlreadyEndsItsTransfer() async throws {
        try await Peer.with("http_answers.py") { peer in
            let meter = StallMeter()
            let task = Task {
                while !Task.isCancelled { await Task.yield() }
                return await failure(OutboundRequest(.get, "\(peer.url)/slow/30"))
            }
            task.cancel()
            #expect(await task.value?.reason == .cancelled)
            #expect(meter.elapsed < .seconds(20))
        }
    }
}
