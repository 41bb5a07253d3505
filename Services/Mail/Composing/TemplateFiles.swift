import Foundation
import Mustache
import ProcessKit

/// The template files: the installed ones, replaced by those in the operator's folder.
struct TemplateFiles {
    /// By file name without `.mustache`.
    private(set) var templates: [String: MustacheTemplate] = [:]

    private static let ending = ".mustache"
    private static let fileBytesMax = 256 << 10

    /// - Parameters:
    ///   - names: the required templates.
    ///   - includable: the parts that templates may include.
    init(
        names: [String], language: ShopLanguage, includable: [String], replacements: String?
    ) throws(StartupProblem) {
        let installed = Bundle.module.bundleURL.appendingPathComponent("Templates").path + language.folder
        let replaced = try Self.files(in: replacements, names)
        for name in names {
            let own = installed + (name.hasPrefix("order-") ? "/orders" : "/accounts")
            let folder = replaced.contains(name) ? replacements ?? own : own
            let path = "\(folder)/\(name)\(Self.ending)"
            guard let data = FileManager.default.contents(atPath: path), data.count <= Self.fileBytesMax,
                let text = String(data: data, encoding: .utf8)
            else {
                throw StartupProblem("The mail template \(path) cannot be read as UTF-8 text of at most 256 KB.")
            }
            // A part that included itself would recurse forever.
            let isPart = includable.contains(name)
            let allowed = isPart ? [] : includable
            if let forbidden = Self.included(by: text).first(where: { !allowed.contains($0) }) {
                throw StartupProblem(
                    isPart
                        ? "The shared part \(path) includes \(forbidden); a shared part cannot include another one."
                        : """
                        The mail template \(path) includes \(forbidden), which is not a shared part. The shared parts \
                        are \(includable.joined(separator: ", ")).
                        """)
            }
            // Without this pragma everything is escaped as HTML, including the subject and the text.
            let pragma = name.hasSuffix(".html") ? "" : "{{% CONTENT_TYPE:TEXT}}\n"
            do {
                templates[name] = try MustacheTemplate(string: pragma + text)
            } catch {
                throw StartupProblem("The mail template \(path) is not valid Mustache: \(error)")
            }
        }
    }

    /// The names of the files in the operator's folder.
    private static func files(in folder: String?, _ names: [String]) throws(StartupProblem) -> Set<String> {
        guard let folder else { return [] }
        guard let files = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
            throw StartupProblem("SATCHEL_MAIL_TEMPLATES=\(folder) is not a readable folder.")
        }
        var found: Set<String> = []
        for file in files where file.hasSuffix(ending) {
            let name = String(file.dropLast(ending.count))
            guard names.contains(name) else {
                throw StartupProblem("\(folder)/\(file) replaces no mail template. Check the file name.")
            }
            found.insert(name)
        }
        return found
    }

    /// The names in `{{> name}}` and `{{<name}}`.
    private static func included(by text: String) -> [String] {
        text.matches(of: /\{\{\s*[<>]\s*([^}\s]+)\s*\}\}/).map { String($0.output.1) }
    }
}
