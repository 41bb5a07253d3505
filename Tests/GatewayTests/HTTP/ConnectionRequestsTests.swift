import GatewayService
import HTTPTypes
import NIOCore
import NIOHTTP1
import Testing

/// The order of a connection's requests, and the events that end the connection.
@Suite struct ConnectionRequestsTests {
    /// The actions as text.
    private func names(_ line: inout ConnectionRequests) -> [String] {
        var names: [String] = []
        while let action = line.next() { names.append(name(action)) }
        return names
    }

    private func name(_ action: ConnectionRequests.Action?) -> String {
        switch action {
        case nil: "nothing"
        case .begin(let head): "begin \(head.path ?? "")"
        case .body(let part): "body \(String(buffer: part))"
        case .bodyEnds(nil): "whole"
        case .bodyEnds: "broken"
        case .refuse: "refuse"
        case .end: "end"
        case .close: "close"
        }
    }

    private func head(_ path: String, _ connection: String? = nil) -> HTTPRequestPart {
        var fields: HTTPFields = [:]
        fields[.connection] = connection
        return .head(HTTPRequest(method: .post, scheme: "http", authority: nil, path: path, headerFields: fields))
    }

    private func line(_ parts: HTTPRequestPart...) -> ConnectionRequests {
        var line = ConnectionRequests()
        for part in parts { line.arrived(part) }
        return line
    }

    private let body = HTTPRequestPart.body(ByteBuffer(string: "abc"))
    private struct Lost: Error {}

    @Test func requestsAreAnsweredOneAfterTheOther() {
        var line = line(head("/1"), body, .end(nil), head("/2"), .end(nil))
        #expect(names(&line) == ["begin /1", "body abc", "whole"])
        #expect(name(line.answered()) == "nothing")
        #expect(names(&line) == ["begin /2", "whole"])
        #expect(name(line.answered()) == "nothing")
        #expect(names(&line).isEmpty)
    }

    @Test func whatWaitsIsBounded() {
        var line = line(head("/1"), .end(nil))
        #expect(names(&line) == ["begin /1", "whole"])
        for _ in 0..<5 {
            #expect(!line.isFull)
            line.arrived(head("/2"))
            line.arrived(.end(nil))
        }
        #expect(line.isFull)
        _ = line.answered()
        #expect(names(&line) == ["begin /2", "whole"])
        #expect(!line.isFull)
    }

    @Test func theRestOfABodyIsDroppedBehindItsAnswer() {
        var line = line(head("/1"), body)
        #expect(names(&line) == ["begin /1", "body abc"])
        #expect(name(line.answered()) == "nothing")
        line.arrived(body)
        line.arrived(.end(nil))
        line.arrived(head("/2"))
        #expect(names(&line) == ["begin /2"])
    }

    @Test(arguments: ["close", "Close", "keep-alive, close", "TE ,\tCLOSE "])
    func aClientMayAskForTheEnd(connection: String) {
        var line = line(head("/1", connection), body)
        #expect(names(&line) == ["begin /1", "body abc"])
        #expect(name(line.answered()) == "end")
        line.arrived(body)
        #expect(names(&line).isEmpty)
        #expect(!line.isFull)
    }

    @Test(arguments: ["keep-alive", "keep-alive, http/1.0", "closed", "not close"])
    func othersAreKept(connection: String) {
        var line = line(head("/1", connection), .end(nil))
        #expect(names(&line) == ["begin /1", "whole"])
        #expect(name(line.answered()) == "nothing")
    }

    @Test func whatIsNoHTTPIsRefusedBehindTheAnswersBefore() {
        var line = line(head("/1"), .end(nil), head("/2"), .end(nil))
        line.inputEnded(.failed(HTTPParserError.invalidMethod))
        line.inputEnded(.closed)
        #expect(names(&line) == ["begin /1", "whole"])
        _ = line.answered()
        #expect(names(&line) == ["begin /2", "whole"])
        _ = line.answered()
        #expect(names(&line) == ["refuse"])
    }

    @Test func aBrokenBodyIsRefusedOnceWhereItIsRead() {
        var line = line(head("/1"), body)
        line.inputEnded(.failed(HTTPParserError.invalidChunkSize))
        #expect(names(&line) == ["begin /1", "body abc", "broken"])
        #expect(name(line.failed(HTTPParserError.invalidChunkSize, hasSentHead: false)) == "refuse")
        #expect(names(&line).isEmpty)
    }

    @Test func aBrokenBodyThatNobodyReadsHasOneAnswer() {
        var before = line(head("/1"), body)
        before.inputEnded(.failed(HTTPParserError.invalidChunkSize))
        #expect(names(&before) == ["begin /1", "body abc", "broken"])
        #expect(name(before.answered()) == "end")
        var behind = line(head("/1"), body)
        #expect(names(&behind) == ["begin /1", "body abc"])
        #expect(name(behind.answered()) == "nothing")
        behind.inputEnded(.failed(HTTPParserError.invalidChunkSize))
        #expect(names(&behind) == ["end"])
    }

    @Test func aClientThatEndsItsSideHasItsAnswerAndThenOurEnd() {
        var idle = line()
        idle.inputEnded(.closed)
        #expect(names(&idle) == ["end"])
        var busy = line(head("/1"), .end(nil))
        busy.inputEnded(.closed)
        #expect(names(&busy) == ["begin /1", "whole"])
        _ = busy.answered()
        #expect(names(&busy) == ["end"])
        var half = line(head("/1"), body)
        half.inputEnded(.closed)
        #expect(names(&half) == ["begin /1", "body abc", "whole"], "Its reader counts the bytes.")
        #expect(name(half.answered()) == "end")
    }

    @Test func otherFailuresEndTheConnectionAtOnce() {
        var idle = line()
        idle.inputEnded(.failed(Lost()))
        #expect(names(&idle) == ["close"])
        for error in [Lost(), HTTPParserError.unknown] as [any Error] {
            var begun = line(head("/1"), .end(nil))
            #expect(names(&begun) == ["begin /1", "whole"])
            #expect(name(begun.failed(error, hasSentHead: true)) == "close")
        }
        var headless = line(body)
        #expect(names(&headless) == ["close"])
    }

    @Test func nothingHappensOnAClosedConnection() {
        var line = line(head("/1"), .end(nil), head("/2"))
        #expect(names(&line) == ["begin /1", "whole"])
        line.closed()
        #expect(name(line.answered()) == "nothing")
        line.arrived(head("/3"))
        line.inputEnded(.closed)
        #expect(names(&line).isEmpty)
    }
}
