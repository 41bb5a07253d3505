import CloudService
import Messages
import ParseProtocol
import Testing

/// The messages between `cloud` and Node, byte by byte.
@Suite struct FrameTests {
    @Test func framesComeOutAsTheyWentInWhateverTheirPieces() throws {
        let texts = ["", "{}", String(repeating: "ü", count: 5000)].map { Array($0.utf8) }
        let bytes = texts.flatMap { FrameReader.frame($0) }
        for size in [1, 3, 4, 7, 4096, bytes.count] {
            var (reader, read, start) = (FrameReader(), [[UInt8]](), 0)
            while start < bytes.count {
                reader.append(bytes[start..<min(start + size, bytes.count)])
                start += size
                while let frame = try reader.next() { read.append(frame) }
            }
            #expect(read == texts, "in pieces of \(size)")
        }
    }

    @Test func aFrameThatIsTooLongIsRefused() {
        var reader = FrameReader()
        reader.append([4, 0, 0, 1])
        #expect(throws: FrameReader.TooLarge.self) { try reader.next() }
    }

    @Test func membersStandInFrontOfAnObjects() throws {
        func text(_ object: String) throws -> String {
            var reader = FrameReader()
            reader.append(FrameReader.frame("\"id\":1", before: Array(object.utf8)))
            return String(decoding: try #require(try reader.next()), as: UTF8.self)
        }
        #expect(try text(#"{"a":2}"#) == #"{"id":1,"a":2}"#)
        #expect(try text("{}") == #"{"id":1}"#)
    }

    @Test(
        arguments: [
            (#"{"t":"done","id":3,"result":{"a":[1]}}"#, NodeMessage.done(3, Array(#"{"a":[1]}"#.utf8))),
            (#"{"t":"done","id":3}"#, .done(3, [])),
            (#"{"t":"done","id":3,"result":null}"#, .done(3, Array("null".utf8))),
            (#"{"t":"log","run":null,"level":"warn","text":"x"}"#, .log(run: nil, level: "warn", text: "x")),
            (#"{"t":"progress","id":3,"message":"half"}"#, .progress(3, "half")),
            (#"{"t":"pong"}"#, .pong),
        ])
    func messagesAreRead(_ text: String, _ message: NodeMessage) throws {
        #expect(try NodeMessage(frame: Array(text.utf8)) == message)
    }

    @Test func definitionsAreReadOnceEach() throws {
        let text = """
            {"t":"loaded","functions":["b","a","b"],"jobs":[],"triggers":[{"trigger":"beforeSave","className":"A"}],\
            "rateLimits":[{"name":"a","count":2,"window":1000}],"error":null}
            """
        let definitions = CodeDefinitions.with {
            $0.functions = ["a", "b"]
            $0.triggers = [
                .with {
                    $0.triggerName = "beforeSave"
                    $0.className = "A"
                }
            ]
        }
        let limit = try #require(CodeRateLimits.Rule(["name": "a", "count": 2, "window": 1000]))
        let code = LoadedCode(definitions: definitions, rateLimits: [limit])
        #expect(try NodeMessage(frame: Array(text.utf8)) == .loaded(code, problem: nil))
    }

    @Test(arguments: ["", "[]", "{}", "no", #"{"t":"done"}"#, #"{"t":"done","id":-1}"#, #"{"t":"ask","run":1}"#])
    func whatIsNoMessageIsRefused(_ text: String) {
        #expect(throws: NodeMessage.Malformed.self) { try NodeMessage(frame: Array(text.utf8)) }
    }

    @Test func aResultThatCannotBeTakenEndsItsOwnCall() throws {
        let brackets = String(repeating: "[", count: 2000) + String(repeating: "]", count: 2000)
        let message = try NodeMessage(frame: Array(#"{"t":"done","id":9,"result":\#(brackets)}"#.utf8))
        guard case .failed(9, let failure) = message else {
            Issue.record("\(message)")
            return
        }
        #expect(failure.code == 141)
    }

    @Test func aRequestOrALineThatCannotBeTakenHarmsNothingElse() throws {
        let brackets = String(repeating: "[", count: 2000) + String(repeating: "]", count: 2000)
        let ask = try NodeMessage(frame: Array(#"{"t":"ask","ask":4,"run":7,"body":\#(brackets)}"#.utf8))
        #expect(ask == .unreadableAsk(4, run: 7))
        let own = try NodeMessage(frame: Array(#"{"t":"ask","ask":5,"run":null,"body":\#(brackets)}"#.utf8))
        #expect(own == .unreadableAsk(5, run: nil))
        let line = try NodeMessage(frame: Array(#"{"t":"log","run":1,"text":\#(brackets)}"#.utf8))
        #expect(line == .unreadableLine)
    }
}
