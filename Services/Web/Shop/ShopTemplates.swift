import Foundation
import Messages
import Mustache
import ProcessKit

/// The storefront's templates. Every value is escaped.
struct ShopTemplates: Sendable {
    private let library: MustacheLibrary

    /// - Throws: `StartupProblem` when a template cannot be parsed.
    init(reading folder: URL) throws {
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder.path)) ?? []
        var templates: [String: MustacheTemplate] = [:]
        for name in names where name.hasSuffix(".mustache") {
            do {
                let text = try String(contentsOf: folder.appendingPathComponent(name), encoding: .utf8)
                templates[String(name.dropLast(".mustache".count))] = try MustacheTemplate(string: text)
            } catch {
                throw StartupProblem("The storefront's template \(name) cannot be used: \(error)")
            }
        }
        guard templates["layout"] != nil else { throw StartupProblem("The storefront's templates are missing.") }
        library = MustacheLibrary(templates: templates)
    }

    func html(_ name: String, _ values: [String: Any]) -> String { library.render(values, withTemplate: name) ?? "" }
}
