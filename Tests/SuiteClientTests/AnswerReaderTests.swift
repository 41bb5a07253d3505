import NIOCore
import SuiteClient
import Testing

/// The answer parser: its counts must match what the suite sent.
@Suite struct AnswerReaderTests {
    private static let plain = "HTTP/1.1 429 Too Many Requests\r\ncontent-length: 5\r\nRetry-After: 7\r\n\r\nhello"
    private static let chunked =
        """
        HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n3\r\nabc\r\nA;x=1\r\n0123456789\r\n\
        0\r\n\r\n
        """

    @Test(arguments: [1, 2, 7, 1000])
    func answersAreReadHoweverTheyArrive(bytesAtOnce: Int) throws {
        var reader = AnswerReader(bodyBytesKept: 100)
        var answers: [Answer] = []
        var input = ByteBuffer()
        let bytes = Array((Self.plain + Self.chunked + Self.plain).utf8)
        for start in stride(from: 0, to: bytes.count, by: bytesAtOnce) {
            input.writeBytes(bytes[start..<min(start + bytesAtOnce, bytes.count)])
            while let answer = try reader.next(&input) { answers.append(answer) }
        }
        #expect(answers.map(\.status) == [429, 200, 429])
        #expect(answers.map(\.text) == ["hello", "abc0123456789", "hello"])
        #expect(answers.map(\.retryAfterSeconds) == [7, nil, 7])
        #expect(answers.map(\.closes) == [false, true, false])
    }

    @Test func aLongBodyIsCountedAndNotKept() throws {
        var reader = AnswerReader(bodyBytesKept: 3)
        var input = ByteBuffer(string: Self.plain)
        let answer = try #require(try reader.next(&input))
        #expect(answer.text == "hel")
        #expect(answer.bodyBytes == 5)
    }

    @Test func whatIsNoAnswerIsRefused() {
        var reader = AnswerReader(bodyBytesKept: 3)
        var input = ByteBuffer(string: "SSH-2.0-OpenSSH\r\n\r\n")
        #expect(throws: AnswerError.self) { try reader.next(&input) }
    }
}
