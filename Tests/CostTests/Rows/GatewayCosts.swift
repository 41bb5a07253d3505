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
        Cost("page forms", 5_000, largest: 4) { n in
            let body = Array((0..<(n / 8)).map { "k\($0)=%7B1" }.joined(separator: "&").utf8)
            return { _ = try ClientInput.pageForm(body, contentType: "application/x-www-form-urlencoded") }
        },
        Cost("page files", 20_000) { n in
            let boundary = Text.repeated("-", 70)
            // Each line is the boundary but for its last character.
            let file = Text.repeated("\r\n--\(boundary.dropLast())x", n / 74)
            let head = "Content-Disposition: form-data; name=\"photo\"; filename=\"a\""
            let body = Array("--\(boundary)\r\n\(head)\r\n\r\n\(file)\r\n--\(boundary)--\r\n".utf8)
            return { _ = try ClientInput.pageForm(body, contentType: "multipart/form-data; boundary=\(boundary)") }
        },
        Cost("JPEG segments", 20_000) { n in
            let entry: [UInt8] = [1, 0x12, 0, 3, 0, 0, 0, 1, 0, 6]
            let direction: [UInt8] = Array("Exif\0\0MM".utf8) + [0, 42, 0, 0, 0, 8, 0, 1] + entry
            let segment: [UInt8] = [0xFF, 0xE1, 0, UInt8(direction.count + 2)] + direction
            var photo: [UInt8] = [0xFF, 0xD8]
            for _ in 0..<(n / segment.count) { photo += segment }
            let whole = photo + [0xFF, 0xDA, 0, 2, 1, 0xFF, 0xD9]
            return { _ = PhotoMetadata.removed(from: whole) }
        },
        Cost("JPEG scans", 20_000) { n in
            let scan: [UInt8] = [0xFF, 0xDA, 0, 2, 1, 0xFF, 0, 0xFF, 0xD0]
            var photo: [UInt8] = [0xFF, 0xD8]
            for _ in 0..<(n / scan.count) { photo += scan }
            let whole = photo
            return { _ = PhotoMetadata.removed(from: whole) }
        },
        Cost("PNG chunks", 20_000) { n in
            func chunk(_ kind: String) -> [UInt8] { [0, 0, 0, 0] + Array(kind.utf8) + [0, 0, 0, 0] }
            var photo: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]
            for _ in 0..<(n / 12) { photo += chunk("IDAT") }
            let whole = photo + chunk("IEND")
            return { _ = PhotoMetadata.removed(from: whole) }
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
