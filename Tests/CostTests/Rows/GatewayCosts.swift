import Foundation
import GatewayService
import ParseProtocol

extension Cost {
    static let gateway: [Cost] = [
        Cost("paths", 5_000) { n in
            let text = Text.repeated("/a%20b", n / 6)
            return { _ = try ClientInput.path(text) }
        },
        Cost("query strings of many names", 5_000) { n in
            let text = (0..<(n / 8)).map { "k\($0)=%7B1" }.joined(separator: "&")
            return { _ = try ClientInput.options(query: text) }
        },
        Cost("query strings of one name", 5_000) { n in
            let text = Text.repeated("keys=a&", n / 7)
            return { _ = try ClientInput.options(query: text) }
        },
        Cost("parameters of one name", 5_000) { n in
            let text = Text.repeated("a=b&", n / 4)
            return { _ = try ClientInput.parameters(query: text) }
        },
        Cost("files in JSON", 50_000) { n in
            let base64 = Data(repeating: 7, count: n).base64EncodedString()
            let body = Array(
                "{\"_ApplicationId\":\"satchel\",\"_ContentType\":\"text/plain\",\"base64\":\"\(base64)\"}".utf8)
            return { _ = try ClientInput.file(tunnelled: body, named: "a.txt", bytesMax: 1 << 24) }
        },
        Cost("byte ranges", 5_000) { n in
            let header = "bytes=" + Text.repeated("0-1,", n / 4)
            return { _ = ClientInput.range(header, size: 1000) }
        },
        Cost("CSV of many rows", 10_000) { n in
            let text = Array(("a,b\r\n" + Text.repeated("1,\"x \"\"y\"\"\"\r\n", n / 13)).utf8)
            return { _ = try ClientInput.rows(csv: text) }
        },
        Cost("CSV of one field", 10_000) { n in
            let text = Array(("a\r\n\"" + Text.repeated("\"\"", n / 2) + "\"\r\n").utf8)
            return { _ = try ClientInput.rows(csv: text) }
        },
        Cost("writing CSV", 10_000) { n in
            let rows = Array(repeating: ["a", "b \"c\""], count: n / 10)
            return { _ = ClientInput.csv(rows) }
        },
        Cost("messages of live queries", 10_000) { n in
            let keys = (0..<(n / 8)).map { "\"k\($0)\"" }.joined(separator: ",")
            let text = Array(
                "{\"op\":\"subscribe\",\"requestId\":1,\"query\":{\"className\":\"A\",\"where\":{},\"keys\":[\(keys)]}}"
                    .utf8)
            return { _ = try LiveRequest(text) }
        },
        Cost("conditions", 10_000) { n in
            let value = try JSON(parsing: Text.object(n / 20) { "\"f\($0)\":{\"$gt\":\"a\"}" })
            return { _ = try OptionValue.condition(value) }
        },
        Cost("routes of settings", 5_000) { n in
            let pattern = try RoutePattern("a*b*c*d")
            let text = Text.repeated("ab", n / 2)
            return { _ = pattern.matches(text) }
        },
        Cost("links of files", 20_000) { n in
            let links = FileLinks(publicURL: "https://shop.example/parse", applicationId: "satchel")
            let body = Text.list(n / 50) { "{\"__type\":\"File\",\"name\":\"0123456789abcdef_\($0).png\"}" }
            return { _ = links.linked(body) }
        },
        Cost("includes of a thousand names", 1_000) { n in
            let value = try JSON(parsing: Text.list(n) { "{\"a\":\($0)}" })
            let keys = (0..<900).map { "f\($0).g" }
            return { _ = ClientInput.branches(of: value, keys: keys) }
        },
    ]
}
