import Foundation
import Messages
import Mustache
import ProcessKit

/// The storefront's templates. Every value is escaped, except the page's own markup and data in triple braces
/// (`ShopMarkdown`, `ShopHead`).
struct ShopTemplates: Sendable {
    /// By language. Values that are the same on every page of a language are part of the templates' text, because the
    /// library searches for each value again on each page.
    private let libraries: [String: MustacheLibrary]

    /// - Parameters:
    ///   - own: files that replace those of the folder, or that they include.
    ///   - assets: the value of `{{assets}}`.
    /// - Throws: `StartupProblem` when a template cannot be parsed.
    init(reading folder: URL, replacements own: ShopFiles?, _ languages: ShopLanguages, assets: String) throws {
        MustacheContentTypes.register(ShopMarkup(), named: ShopMarkup.name)
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder.path)) ?? []
        var urls: [String: URL] = [:]
        for name in names { urls[name] = folder.appendingPathComponent(name) }
        urls.merge(own?.urls ?? [:]) { $1 }
        var libraries: [String: MustacheLibrary] = [:]
        for (language, words) in languages.all {
            var templates: [String: MustacheTemplate] = [:]
            for (name, url) in urls where name.hasSuffix(Self.suffix) {
                templates[String(name.dropLast(Self.suffix.count))] = try Self.template(url, words, assets)
            }
            guard templates["layout"] != nil else { throw StartupProblem("The storefront's templates are missing.") }
            libraries[language] = MustacheLibrary(templates: templates)
        }
        self.libraries = libraries
    }

    private static let suffix = ".mustache"

    private static func template(
        _ url: URL, _ words: ShopWords, _ assets: String
    ) throws(StartupProblem) -> MustacheTemplate {
        do {
            let text = try filled(String(contentsOf: url, encoding: .utf8), words, assets)
            return try MustacheTemplate(string: ShopMarkup.pragma + text)
        } catch let problem as MustacheTemplate.ParserError {
            // The pragma is one line.
            let line = problem.context.lineNumber - 1
            throw StartupProblem("The storefront's template \(url.path) is wrong in line \(line): \(problem.error)")
        } catch {
            throw StartupProblem("The storefront's template \(url.path) cannot be read: \(error)")
        }
    }

    /// A template with the texts in place of `{{t.name}}`, and the folder in place of `{{assets}}`. Other tags, and
    /// templates with comments or with delimiters or a content type of their own, stay as they are.
    private static func filled(_ template: String, _ words: ShopWords, _ assets: String) -> String {
        guard !["{{!", "{{=", "{{%"].contains(where: { template.contains($0) }) else { return template }
        var parts = template.components(separatedBy: "{{")
        for index in parts.indices.dropFirst() {
            let part = parts[index]
            guard let end = part.firstRange(of: "}}") else {
                parts[index] = "{{" + part
                continue
            }
            let name = part[..<end.lowerBound]
            var value: String?
            if name == "assets" { value = assets }
            if name.hasPrefix("t.") { value = words.shown(name.dropFirst(2)) }
            // Line breaks, or white space at the ends of a text, could change which lines consist of tags alone.
            if let value, value.first?.isWhitespace == false, value.last?.isWhitespace == false,
                !value.contains(where: \.isNewline), !value.contains("{{"), value.last != "{"
            {
                parts[index] = "\(ShopMarkup.escaped(value))\(part[end.upperBound...])"
            } else {
                parts[index] = "{{" + part
            }
        }
        return parts.joined()
    }

    func html(_ name: String, _ values: [String: Any], in language: String) -> String {
        libraries[language]?.render(ShopValues(values), withTemplate: name) ?? ""
    }
}

/// Values by the names in a template. The library may get a dictionary as well, but the conformance of a dictionary
/// depends on the type of its keys, which the runtime checks at each search.
struct ShopValues: MustacheParent {
    private let values: [String: Any]

    init(_ values: [String: Any]) { self.values = values }

    func child(named name: String) -> Any? { values[name] }
}

/// Escapes by bytes. The library's own type compares characters, and `"` with a combining mark is another character.
struct ShopMarkup: MustacheContentType {
    static let name = "SHOP"
    static let pragma = "{{% CONTENT_TYPE:\(name)}}\n"

    func escapeText(_ text: String) -> String { Self.escaped(text) }

    /// A text for markup and for values of attributes in quotes.
    static func escaped(_ text: String) -> String {
        // Most texts have none of these bytes.
        guard text.utf8.contains(where: isEscaped) else { return text }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.utf8.count)
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "<"): bytes += Array("&lt;".utf8)
            case UInt8(ascii: ">"): bytes += Array("&gt;".utf8)
            case UInt8(ascii: "&"): bytes += Array("&amp;".utf8)
            case UInt8(ascii: "\""): bytes += Array("&quot;".utf8)
            case UInt8(ascii: "'"): bytes += Array("&#39;".utf8)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    private static func isEscaped(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "<"), UInt8(ascii: ">"), UInt8(ascii: "&"), UInt8(ascii: "\""), UInt8(ascii: "'"): true
        default: false
        }
    }
}
