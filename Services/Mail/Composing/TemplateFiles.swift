import Foundation
import Mustache
import ProcessKit

/// The files of the templates: the installed ones, and those of the operator's folder in place of them.
struct TemplateFiles {
    /// By file name without `.mustache`.
    private(set) var templates: [String: MustacheTemplate] = [:]

    private static let ending = ".mustache"
    private static let fileBytesMax = 256 << 10

    /// - Parameters:
    ///   - names: what there must be.
    ///   - includable: those that the others may include.
    init(names: [String], includable: [String], replacements: String?) throws(StartupProblem) {
        let installed = Bundle.module.bundleURL.appendingPathComponent("Templates").path
        let replaced = try Self.files(in: replacements, names)
        for name in names {
            let folder = replaced.contains(name) ? replacements ?? installed : installed
            let path = "\(folder)/\(name)\(Self.ending)"
            guard let data = FileManager.default.contents(atPath: path), data.count <= Self.fileBytesMax,
                let text = String(data: data, encoding: .utf8)
            else {
                throw StartupProblem("The mail template \(path) cannot be read as UTF-8 text of at most 256 KB.")
            }
            // A part that included itself would never end.
            let allowed = includable.contains(name) ? [] : includable
            if let stranger = Self.included(by: text).first(where: { !allowed.contains($0) }) {
                throw StartupProblem(
                    """
                    The mail template \(path) includes \(stranger); only the shared parts can be included, and not by \
                    each other.
                    """
                )
            }
            // Without this everything is escaped as HTML, also in the subject and the text.
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
            throw StartupProblem("SATCHEL_MAIL_TEMPLATES=\(folder) is not a folder that can be read.")
        }
        var found: Set<String> = []
        for file in files where file.hasSuffix(ending) {
            let name = String(file.dropLast(ending.count))
            guard names.contains(name) else {
                throw StartupProblem("\(folder)/\(file) replaces no mail template; is its name right?")
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
