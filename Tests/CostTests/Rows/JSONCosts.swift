import ParseProtocol
import ServiceKit

extension Cost {
    static let json: [Cost] = [
        Cost("JSON of numbers", 1_500) { n in
            let text = Text.list(n) { "\($0)" }
            return { _ = try JSON(clientText: text) }
        },
        Cost("JSON of names", 1_000) { n in
            let text = Text.object(n) { "\"name\($0)\":1" }
            return { _ = try JSON(clientText: text) }
        },
        Cost("JSON of one text", 50_000) { n in
            let text = Text.list(1) { _ in "\"\(Text.repeated("né日本", n / 8))\"" }
            return { _ = try JSON(clientText: text) }
        },
        Cost("JSON of escapes", 20_000) { n in
            let text = Text.list(1) { _ in "\"\(Text.repeated(#"\u00e9"#, n / 6))\"" }
            return { _ = try JSON(clientText: text) }
        },
        Cost("JSON of names with marks up to the limit", 200) { n in
            let marks = Text.marks(CombiningMarks.runLimit)
            let text = Text.object(n) { "\"\($0)a\(marks)\":1" }
            return { _ = try JSON(clientText: text) }
        },
        Cost("stored JSON with a name of marks alone", 5_000) { n in
            let text = Text.object(1) { _ in "\"a\(Text.marks(n))\":\"b\(Text.marks(n))\"" }
            return { _ = try JSON(parsing: text).hashValue }
        },
        Cost("writing JSON", 3_000) { n in
            let value = try JSON(parsing: Text.object(n) { "\"name\($0)\":\"\($0)\"" })
            return { _ = value.serialized }
        },
        Cost("hashing JSON texts", 3_000) { n in
            let values = (0..<n).map { JSON.string("\($0)é") }
            return { _ = Set(values) }
        },
        Cost("comparing JSON", 300) { n in
            let text = Text.object(n) { "\"name\($0)\":[\"é\",{\"a\":\($0)}]" }
            let (one, other) = (try JSON(parsing: text), try JSON(parsing: text))
            return { _ = one == other }
        },
        Cost("prohibited keys", 3_000) { n in
            let value = try JSON(parsing: Text.list(n) { "{\"a\":\($0)}" })
            return { _ = value.prohibitedKey }
        },
        Cost("counting patterns", 3_000) { n in
            let value = try JSON(parsing: Text.list(n) { "{\"a\":{\"$gt\":\($0)}}" })
            return {
                var patterns = PatternBudget()
                try patterns.take(allOf: value)
            }
        },
        Cost("scanning a stored document", 3_000) { n in
            let text = Text.object(n) { "\"name\($0)\":[{\"a\":\"b\"}]" }
            return { _ = JSONMembers.filter(text) { $0 != "name0" } }
        },
        Cost("the order of members", 3_000) { n in
            let text = Text.object(1) { _ in
                "\"indexes\":{\"a\":{\((0..<n).map { "\"f\($0)\":1" }.joined(separator: ","))}}"
            }
            return { _ = JSONMemberOrder.names(in: text, under: "indexes") }
        },
        Cost("choosing by a thousand keys", 2_000) { n in
            let text = Text.object(n) { "\"name\($0)\":1" }
            let selection = KeySelection(
                keys: (0..<KeySelection.namesMax).map { "x.name\($0)" } + ["y"], excludeKeys: [])
            let document = Array("{\"x\":".utf8) + text + Array("}".utf8)
            return {
                var output: [UInt8] = []
                _ = document.withUnsafeBufferPointer { selection.append($0, to: &output) }
            }
        },
        Cost("the keys of a query", 250) { n in
            let keys = (0..<n).map { "f.\($0)name" }
            return { _ = KeySelection(keys: keys, excludeKeys: keys) }
        },
        Cost("combining marks in CJK text", 30_000) { n in
            let text = Text.repeated("日本語", n / 9)
            return { _ = text.exceedsMarkLimit }
        },
        Cost("card numbers in digits", 10_000) { n in
            let text = Text.repeated("7", n)
            return { _ = CardNumber.isPresent(in: text) }
        },
        Cost("card numbers in groups", 10_000) { n in
            let text = Text.repeated("7 ", n / 2)
            return { _ = CardNumber.isPresent(in: text) }
        },
        Cost("card numbers in identifiers", 10_000) { n in
            let text = Text.repeated("0123abcd-0123-4567-89ab-0123456789ab ", n / 37)
            return { _ = CardNumber.isPresent(in: text) }
        },
        Cost("mailboxes of addresses", 10_000) { n in
            let text = Text.repeated("a.", n / 2) + "@gmail.com"
            return { _ = Mailbox(text) }
        },
        Cost("hexadecimal digits", 10_000) { n in
            let bytes = [UInt8](repeating: 0xAB, count: n)
            return { _ = bytes.hex }
        },
    ]
}
