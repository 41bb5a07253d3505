import Foundation
import Messages
import Mustache
import ProcessKit

/// The storefront's templates. Every value is escaped, except the page's own markup and data in triple braces
/// (`ShopMarkdown`, `ShopHead`).
struct ShopTemplates: Sendable {
    private let library: MustacheLibrary

    /// - Parameter own: files that replace those of the folder, or that they include.
    /// - Throws: `StartupProblem` when a template cannot be parsed.
    init(reading folder: URL, replacements own: ShopFiles?) throws {
        MustacheContentTypes.register(ShopMarkup(), named: ShopMarkup.name)
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder.path)) ?? []
        var urls: [String: URL] = [:]
        for name in names { urls[name] = folder.appendingPathComponent(name) }
        urls.merge(own?.urls ?? [:]) { $1 }
        var templates: [String: MustacheTemplate] = [:]
        for (name, url) in urls where name.hasSuffix(Self.suffix) {
            templates[String(name.dropLast(Self.suffix.count))] = try Self.template(url)
        }
        guard templates["layout"] != nil else { throw StartupProblem("The storefront's templates are missing.") }
        library = MustacheLibrary(templates: templates)
    }

    private static let suffix = ".mustache"

    private static func template(_ url: URL) throws(StartupProblem) -> MustacheTemplate {
        do {
            let text = try String(contentsOf: url, encoding: .utf8)
            return try MustacheTemplate(string: ShopMarkup.pragma + text)
        } catch let problem as MustacheTemplate.ParserError {
            // The pragma is one line.
            let line = problem.context.lineNumber - 1
            throw StartupProblem("The storefront's template \(url.path) is wrong in line \(line): \(problem.error)")
        } catch {
            throw StartupProblem("The storefront's template \(url.path) cannot be read: \(error)")
        }
    }

    func html(_ name: String, _ values: [String: Any]) -> String { library.render(values, withTemplate: name) ?? "" }
}

/// Escapes by bytes. The library's own type compares characters, and `"` with a combining mark is another character.
struct ShopMarkup: MustacheContentType {
    static let name = "SHOP"
    static let pragma = "{{% CONTENT_TYPE:\(name)}}\n"

    func escapeText(_ text: String) -> String { Self.escaped(text) }

    /// A text for markup and for values of attributes in quotes.
    static func escaped(_ text: String) -> String {
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
}
