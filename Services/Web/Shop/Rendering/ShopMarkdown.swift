/// The part of Markdown that company pages use: headings, paragraphs, lists, `**bold**`, `*italic*` and
/// `[text](address)`. All other text is escaped, also HTML.
package enum ShopMarkdown {
    private enum Block { case paragraph, list, numbers }

    package static func html(_ text: String) -> String {
        var output = ""
        var block: Block?
        func close() {
            switch block {
            case .paragraph?: output += "</p>\n"
            case .list?: output += "</ul>\n"
            case .numbers?: output += "</ol>\n"
            case nil: break
            }
            block = nil
        }
        func begin(_ wanted: Block, _ tag: String) {
            guard block != wanted else { return }
            close()
            output += tag
            block = wanted
        }
        for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
            let line = trimmed(line)
            if line.isEmpty {
                close()
            } else if let (level, title) = heading(line) {
                close()
                output += "<h\(level)>\(inline(title))</h\(level)>\n"
            } else if line.hasPrefix("- ") || line.hasPrefix("* ") {
                begin(.list, "<ul class=\"dots\">\n")
                output += "<li>\(inline(trimmed(line.dropFirst(2))))</li>\n"
            } else if let item = numbered(line) {
                begin(.numbers, "<ol>\n")
                output += "<li>\(inline(item))</li>\n"
            } else {
                if block == .paragraph { output += "\n" }
                begin(.paragraph, "<p>")
                output += inline(line)
            }
        }
        close()
        return output
    }

    /// `# Title`, below the page's own `h1`.
    private static func heading(_ line: Substring) -> (level: Int, title: Substring)? {
        let marks = line.prefix { $0 == "#" }.count
        let rest = line.dropFirst(marks)
        guard (1...6).contains(marks), rest.first == " " else { return nil }
        return (min(marks + 1, 6), trimmed(rest))
    }

    /// The text of `1. text`.
    private static func numbered(_ line: Substring) -> Substring? {
        let digits = line.prefix { $0.isASCII && $0.isNumber }.count
        let rest = line.dropFirst(digits)
        return (1...3).contains(digits) && rest.hasPrefix(". ") ? trimmed(rest.dropFirst(2)) : nil
    }

    private static func trimmed(_ text: Substring) -> Substring {
        var text = text.drop(while: \.isWhitespace)
        while text.last?.isWhitespace == true { text.removeLast() }
        return text
    }

    // MARK: - Inside of a line

    /// Reads the line once: a mark that has no partner stays text, and is not searched for again.
    private static func inline(_ text: Substring) -> String {
        var output = ""
        var plain = text[text.startIndex..<text.startIndex]
        var rest = text
        var unpaired: Set<String> = []
        func flush() {
            output += ShopMarkup.escaped(String(plain))
            plain = rest[rest.startIndex..<rest.startIndex]
        }
        while let first = rest.first {
            if first == "*" {
                let mark = rest.hasPrefix("**") ? "**" : "*"
                let inside = rest.dropFirst(mark.count)
                if !unpaired.contains(mark), inside.first?.isWhitespace == false {
                    if let (inner, after) = enclosed(inside, mark) {
                        flush()
                        let tag = mark == "**" ? "strong" : "em"
                        output += "<\(tag)>\(ShopMarkup.escaped(String(inner)))</\(tag)>"
                        rest = after
                        plain = rest[rest.startIndex..<rest.startIndex]
                        continue
                    }
                    unpaired.insert(mark)
                }
            } else if first == "[", !unpaired.contains("[") {
                if let (title, afterTitle) = enclosed(rest.dropFirst(), "]("),
                    let (address, after) = enclosed(afterTitle, ")")
                {
                    if isAddress(address) {
                        flush()
                        output += "<a href=\"\(ShopMarkup.escaped(String(address)))\">"
                        output += ShopMarkup.escaped(String(title)) + "</a>"
                        rest = after
                        plain = rest[rest.startIndex..<rest.startIndex]
                    } else {
                        rest = after
                        plain = text[plain.startIndex..<rest.startIndex]
                    }
                    continue
                }
                unpaired.insert("[")
            }
            rest = rest.dropFirst()
            plain = text[plain.startIndex..<rest.startIndex]
        }
        flush()
        return output
    }

    /// The text before the next `end`, and the text after it; nil when there is none or nothing before it.
    private static func enclosed(_ text: Substring, _ end: String) -> (inner: Substring, after: Substring)? {
        var rest = text
        while !rest.isEmpty {
            if rest.hasPrefix(end) {
                let inner = text[text.startIndex..<rest.startIndex]
                return inner.isEmpty ? nil : (inner, rest.dropFirst(end.count))
            }
            rest = rest.dropFirst()
        }
        return nil
    }

    /// A page of this shop, a web page, a mail address or a telephone number; never a script.
    private static func isAddress(_ text: Substring) -> Bool {
        guard !text.contains(where: \.isWhitespace), !text.unicodeScalars.contains(where: { $0.value < 0x21 }) else {
            return false
        }
        if text.hasPrefix("/") { return !text.hasPrefix("//") && !text.hasPrefix("/\\") }
        let lower = text.lowercased()
        return ["https://", "http://", "mailto:", "tel:"].contains { lower.hasPrefix($0) }
    }
}
