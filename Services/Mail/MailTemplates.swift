import Foundation
import Mustache

/// The shop's mails: for each name three Mustache files, `<name>.subject.mustache`, `.text.mustache` and `.html.mustache`.
/// Only the HTML is escaped; the other two say `{{% CONTENT_TYPE:TEXT}}` in their first line.
package struct MailTemplates: Sendable {
    package static let names = ["order-confirmation"]

    package struct Parts: Sendable {
        let subject: MustacheTemplate
        let text: MustacheTemplate
        let html: MustacheTemplate
    }

    enum Problem: Error {
        case missing(String)
    }

    private let parts: [String: Parts]

    /// Reads the templates, which are installed beside the executable.
    /// - Throws: `Problem` or a `MustacheTemplate` error, which end the service's start.
    package init() throws {
        let directory = Bundle.module.bundleURL.appendingPathComponent("Templates")
        func template(_ name: String, _ part: String) throws -> MustacheTemplate {
            let file = directory.appendingPathComponent("\(name).\(part).mustache")
            guard let text = try? String(contentsOf: file, encoding: .utf8) else { throw Problem.missing(file.path) }
            return try MustacheTemplate(string: text)
        }
        parts = try Self.names.reduce(into: [:]) { parts, name in
            parts[name] = Parts(
                subject: try template(name, "subject"), text: try template(name, "text"),
                html: try template(name, "html"))
        }
    }

    subscript(name: String) -> Parts? { parts[name] }
}
