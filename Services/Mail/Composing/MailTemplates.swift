import Foundation
import Mustache
import ProcessKit

/// The shop's mails: for each name three Mustache files, `<name>.subject.mustache`, `.text.mustache` and
/// `.html.mustache`, and the parts that several of them share. Only the HTML is escaped.
///
/// An operator replaces them with files of the same names in a separate folder (`SATCHEL_MAIL_TEMPLATES`). Templates
/// are read once, at start. Each is rendered with an example, so that a broken template aborts startup instead of
/// losing a mail to a customer.
package struct MailTemplates: Sendable {
    package struct Content: Sendable {
        package let subject: String
        package let text: String
        package let html: String
    }

    /// Every template and its kind.
    package static let kinds: [String: TemplateKind] = [
        "email-verification": .link, "password-reset": .link, "operator-invitation": .link,
        "order-confirmation": .order, "order-shipped": .order, "order-delivered": .order, "order-cancelled": .order,
        "order-refunded": .order,
    ]

    /// The parts that other templates include: `{{> order-lines.text}}`, `{{<layout.html}}`.
    static let parts = ["layout.html", "order-lines.html", "order-lines.text"]

    let language: ShopLanguage
    private let library: MustacheLibrary

    /// Reads the templates installed beside the executable, and their replacements.
    /// - Parameter replacements: a folder, or nil for none.
    /// - Throws: `StartupProblem`.
    package init(_ language: ShopLanguage = .en, replacements: String? = nil) throws {
        self.language = language
        let names = Self.kinds.keys.flatMap { ["\($0).subject", "\($0).text", "\($0).html"] } + Self.parts
        let files = try TemplateFiles(
            names: names, language: language, includable: Self.parts, replacements: replacements)
        library = MustacheLibrary(templates: files.templates)
        for (name, kind) in Self.kinds {
            let example = render(name, kind.example(language))
            guard !HeaderText.singleLine(example.subject).isEmpty else {
                throw StartupProblem("The mail template \(name).subject.mustache has no text.")
            }
            for (part, content) in [("text", example.text), ("html", example.html)]
            where !content.contains(kind.requiredText) {
                throw StartupProblem(
                    "The mail template \(name).\(part).mustache does not contain \(kind.requiredTag).")
            }
        }
    }

    /// - Parameter name: one of `kinds`; empty content for any other.
    func render(_ name: String, _ values: [String: Any]) -> Content {
        func part(_ part: String) -> String { library.render(values, withTemplate: "\(name).\(part)") ?? "" }
        return Content(subject: part("subject"), text: part("text"), html: part("html"))
    }
}
