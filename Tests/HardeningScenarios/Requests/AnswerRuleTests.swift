import Foundation
import ParseProtocol
import TestSupport
import Testing

/// The rules on what an answer may contain, and tests that these rules detect violations.
@Suite struct AnswerRuleTests {
    static let bad: [(Int, String, String)] = [
        (500, "application/json", #"{"code":1,"error":"Internal server error."}"#),
        (502, "application/json", #"{"code":2,"error":"x"}"#), (404, "text/html", "Not found"),
        (404, "application/json", "{}"), (400, "application/json", #"{"code":107,"error":""}"#),
        (400, "application/json", #"{"code":110,"error":"x"}"#),
        (400, "application/json", #"{"code":"107","error":"x"}"#),
        (400, "application/json", #"{"error":"x"}"#),
        (400, "application/json", #"{"code":107,"error":"x","stack":[]}"#),
        (403, "application/json", #"{"error":"no"}"#), (400, "application/json", "code 107"),
        (400, "application/json", #"{"code":102,"error":"SQLite error 1"}"#),
        (400, "application/json", #"{"code":107,"error":"at 10.0.0.1:5432"}"#),
        (400, "application/json", #"{"code":107,"error":"open of /tmp/x failed"}"#),
        (200, "application/json", #"{"result":"Optional(3)"}"#),
        (200, "application/json", #"{"result":"<Reader: 0x7f3a9c001230>"}"#), (404, "text/plain", "File not found."),
    ]

    /// The rules detect violations and accept the protocol's answers.
    @Test(arguments: bad) func aBadAnswerIsFound(status: Int, type: String, text: String) {
        #expect(Self.complaint(status: status, type: type, text: text) != nil)
    }

    @Test func answersOfTheProtocolAreLetPass() {
        let json = "application/json; charset=utf-8"
        #expect(Self.complaint(status: 200, type: json, text: "{}") == nil)
        #expect(Self.complaint(status: 200, type: json, text: #"{"username":"mecbi10xei"}"#) == nil)
        #expect(Self.complaint(status: 403, type: json, text: #"{"error":"unauthorized","hint":"x"}"#) == nil)
        #expect(Self.complaint(status: 404, type: json, text: #"{"code":101,"error":"Object not found."}"#) == nil)
        #expect(Self.complaint(status: 404, type: "text/plain", text: "File not found.", "/files/a/b") == nil)
    }

    /// The codes of PARSE_PROTOCOL section 14 without 1, which is an internal error.
    private static let codes: Set<Int> = Set([-1, 2, 4] + Array(100...109) + Array(111...130) + Array(132...162))
        .union(Array(200...211) + Array(250...253) + [255])

    /// Words that reveal internals. No request of the tests contains one of them.
    private static let inner = [
        "sqlite", "SQLite", "GRDB", "SELECT ", "INSERT ", "UPDATE ", "PRAGMA", "json_extract", "constraint failed",
        "syntax error", "/work", "/tmp", "/usr/", "/root", "/home", ".swift", "Swift.", "Optional(", "Error Domain",
        "NSError", "DecodingError", "Foundation.", "protobuf", "Protobuf", "ZeroMQ", "zmq_", "ipc://", "tcp://",
        "Fatal error",
        "Traceback", "Thread ", "BusFailure", "ParseError(", "ProtocolError", ".v1", "supervisor", "Hummingbird",
        "libcurl",
    ]

    /// A word in the text that reveals internals.
    static func innerWord(in text: String) -> String? {
        // A memory address. Names and tokens are random, so two characters are not enough.
        if text.contains(#/\b0x[0-9a-f]{6,16}\b/#) { return "0x" }
        return inner.first { text.contains($0) }
    }

    /// The rule that an answer violates; nil when it violates none.
    static func complaint(about answer: ParseClient.Answer, to path: String, of url: String) -> String? {
        complaint(
            status: answer.status, type: answer.headers.first(name: "content-type") ?? "",
            text: answer.text.replacingOccurrences(of: url, with: ""), path)
    }

    static func complaint(status: Int, type: String, text: String, _ path: String = "/") -> String? {
        // The log and the settings are for the operator with the master key.
        if status == 200, path.hasPrefix("/scriptlog") || path.hasPrefix("/operations/") { return nil }
        if let word = innerWord(in: text) { return "tells “\(word)”" }
        if status < 400 { return nil }
        if text.contains(#/:[0-9]{4,5}\b/#) { return "tells a port" }
        if status >= 500, status != 503 { return "is a fault of the server" }
        if status == 404, path.hasPrefix("/files/"), text == "File not found." { return nil }
        guard type.hasPrefix("application/json") else {
            return "is not JSON by its type"
        }
        guard let json = try? JSON(parsing: text), let members = json.objectValue,
            members["error"]?.stringValue?.isEmpty == false,
            Set(members.keys).isSubset(of: ["code", "error", "details", "hint"])
        else { return "is no error body" }
        if status == 403, members["code"] == nil {
            let texts = ["unauthorized", "unauthorized: master key is required"]
            return texts.contains(json.text("error")) ? nil : "is no refusal of the protocol"
        }
        guard let code = json["code"]?.intValue, codes.contains(Int(code)) else {
            return "has a code that the protocol does not know"
        }
        return nil
    }
}
