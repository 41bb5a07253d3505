import GatewayService
import ParseProtocol
import Testing

/// Each File in an answer gets its url.
@Suite struct FileLinksTests {
    private let links = FileLinks(publicURL: "https://shop.example/parse", applicationId: "satchel")

    private func linked(_ text: String) -> String { String(decoding: links.linked(Array(text.utf8)), as: UTF8.self) }

    @Test(arguments: ["", "{}", #"{"a":"File"}"#, #"{"__type":"File"}"#, #"{"__type":"File","name":""#])
    func whatHasNoFileStays(text: String) {
        #expect(linked(text) == text)
    }

    @Test func filesGetTheirAddress() {
        #expect(
            linked(#"{"a":{"__type":"File","name":"x_1.png"},"b":2}"#)
                == #"""
                {"a":{"__type":"File","name":"x_1.png","url":"https://shop.example/parse/files/satchel/x_1.png"},\#
                "b":2}
                """#
        )
        #expect(
            linked(#"[{"__type":"File","name":"a b  c.txt"}]"#)
                == #"""
                [{"__type":"File","name":"a b  c.txt",\#
                "url":"https://shop.example/parse/files/satchel/a%20b%20%20c.txt"}]
                """#
        )
    }

    @Test(arguments: [
        #"{"__type":"File","name":"a","url":"http://elsewhere"}"#, #"{"__type":"File","name":"ä"}"#,
        #"{"__type":"File","name":"a\"}"}"#, #"{"t":"{\"__type\":\"File\",\"name\":\"a\"}"}"#,
    ])
    func otherFilesAndTextsStay(text: String) {
        #expect(linked(text) == text)
    }

    @Test func manyFilesAmongOtherTexts() {
        for count in [2, 3, 50] {
            let name = { (index: Int) in "\(String(repeating: "n", count: index)) F\(index)_.jpg" }
            let before = (1...count).map { #"{"FFF":"F","image":{"__type":"File","name":"\#(name($0))"},"n":\#($0)}"# }
            let after = (1...count).map { index in
                let url =
                    "https://shop.example/parse/files/satchel/"
                    + name(index).split(separator: " ").joined(separator: "%20")
                return #"{"FFF":"F","image":{"__type":"File","name":"\#(name(index))","url":"\#(url)"},"n":\#(index)}"#
            }
            #expect(linked("[" + before.joined(separator: ",") + "]") == "[" + after.joined(separator: ",") + "]")
        }
    }
}
