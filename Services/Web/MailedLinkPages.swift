import Foundation
import Mustache
import ProcessKit

/// The pages behind links in mails: Mustache templates inside one frame, with every value escaped.
package struct MailedLinkPages: Sendable {
    private static let frame = "frame"
    private let templates: [String: MustacheTemplate]
    private let shopName: String
    /// Translations of the gateway's texts.
    private let texts: [String: String]

    static let german = [
        "The two passwords are not the same.": "Die beiden Passwörter sind nicht gleich.",
        "That is no e-mail address.": "Das ist keine E-Mail-Adresse.",
        "There is no such page.": "Diese Seite gibt es nicht.",
    ]

    /// - Parameters:
    ///   - folder: has a file for each page, and the frame.
    ///   - replacements: a folder with files of the same names that replace them; nil for none.
    /// - Throws: `StartupProblem` when a template is missing or cannot be parsed.
    package init(reading folder: URL, replacements: String?, shopName: String, texts: [String: String] = [:]) throws {
        self.shopName = shopName
        self.texts = texts
        let own = replacements.map { URL(fileURLWithPath: $0) }
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        templates = try names.filter { $0.hasSuffix(".mustache") }.reduce(into: [:]) { templates, name in
            let urls = [own, folder].compactMap { $0?.appendingPathComponent(name) }
            guard let url = urls.first(where: { FileManager.default.fileExists(atPath: $0.path) }) else { return }
            do {
                let text = try String(contentsOf: url, encoding: .utf8)
                templates[url.deletingPathExtension().lastPathComponent] = try MustacheTemplate(string: text)
            } catch {
                throw StartupProblem("The page \(url.path) cannot be used: \(error)")
            }
        }
        guard templates[Self.frame] != nil else { throw StartupProblem("The pages in \(folder.path) are missing.") }
    }

    /// - Returns: nil when there is no page of that name.
    package func html(_ name: String, _ values: [String: String]) -> String? {
        guard name != Self.frame, let template = templates[name], let frame = templates[Self.frame] else { return nil }
        // Only the frame inserts its content unescaped; the inner template has escaped it.
        let values = values.mapValues { texts[$0] ?? $0 }
        let content = template.render(values.merging(["shop": shopName]) { own, _ in own })
        return frame.render(["shop": shopName, "content": content])
    }
}
