import GatewayService
import Messages
import ParseProtocol
import Testing

/// What the gateway stores of the answer to a write with an `Idempotency-Key`.
@Suite struct KeyedWriteEndTests {
    private static func write(_ key: String) -> KeyedWrite {
        DeduplicationKeys(masterKey: "master").write(key, of: "user ann", digest: "a request")
    }

    /// The code of an error, and whether another run may have another answer.
    static let errors: [(ParseError.Code, Bool)] = [
        (.internalServerError, true), (.serviceUnavailable, true), (.connectionFailed, true), (.timeout, true),
        (.requestLimitExceeded, true), (.incorrectType, false), (.objectNotFound, false), (.scriptFailed, false),
    ]

    @Test(arguments: errors) func aTemporaryErrorInABatchIsNotFinal(_ code: ParseError.Code, isTemporary: Bool) {
        let error = ParseError(code, "A text.")
        for isWhole in [true, false] {
            var batch = BatchResponse(bytesMax: 1 << 20, nil)
            batch.append(success: Array("{}".utf8))
            if isWhole { batch.append(ParseResponse(error)) } else { batch.append(error) }
            batch.append(success: Array("{}".utf8))
            let end = Self.write("k").end(batch.finished())
            #expect(end.retriable == isTemporary)
            #expect(end.answer.isEmpty == isTemporary)
        }
        #expect(Self.write("k").end(ParseResponse(error)).retriable == isTemporary)
    }

    /// A webhook or cloud code that succeeded must not run again.
    @Test(arguments: [true, false]) func aBatchIsFinalOnceAHookedPartSucceeded(_ isHooked: Bool) {
        var batch = BatchResponse(bytesMax: 1 << 20, nil)
        batch.append(ParseResponse(body: Array("{}".utf8)), isHooked: isHooked)
        batch.append(ParseResponse(ParseError(.serviceUnavailable, "A text.")), isHooked: true)
        #expect(Self.write("k").end(batch.finished()).retriable == !isHooked)
    }

    @Test(
        arguments: [
            ("The webhook cannot be reached.", true), ("The webhook did not answer in time.", true),
            ("The webhook's answer is not complete.", true), ("The webhook answered with status 502.", true),
            ("The webhook answered with status 404.", false), ("The webhook's answer is too large.", false),
            ("no stock", false),
        ])
    func aWebhookWithoutAnAnswerIsNotFinal(_ text: String, isTemporary: Bool) {
        #expect(Self.write("k").end(ParseResponse(ParseError(.scriptFailed, text))).retriable == isTemporary)
    }

    @Test func onlyAnAnswerThatCatalogStoresIsSent() throws {
        let write = Self.write("k")
        let large = [UInt8](repeating: 0x20, count: EndWrite.answerBytesMax)
        let end = write.end(ParseResponse(body: large))
        #expect(try write.replayed(Array(end.answer)).body == large)
        let tooLarge = write.end(ParseResponse(body: large + [0x20]))
        #expect(tooLarge.answer.isEmpty)
        #expect(!tooLarge.retriable)
    }

    /// The services encrypt their replies with these keys.
    @Test func theMessagesKeysNeedTheClientsKey() {
        let key = Self.write("k").keys("seed").next("bag.write.v1")
        #expect(Self.write("k").keys("seed").next("bag.write.v1") == key)
        #expect(Self.write("other").keys("seed").next("bag.write.v1") != key)
        #expect(Self.write("k").keys("other").next("bag.write.v1") != key)
        #expect(!key.contains("seed"))
    }
}
