import Foundation
import Mustache

/// The files of the templates: the installed ones, and those of the operator's folder in place of them.
package struct TemplateFiles {
    /// By file name without `.mustache`.
    private(set) var templates: [String: MustacheTemplate] = [:]

    /// Why the templates cannot be used; ends the service's start.
    package enum Problem: Error, CustomStringConvertible {
        case folder(String)
        case unreadable(String)
        case unknownFile(String, folder: String)
        case syntax(String, String)
        case include(String, String)
        case incomplete(String, String)

        package var description: String {
            switch self {
            case .folder(let path): "SATCHEL_MAIL_TEMPLATES=\(path) is not a folder that can be read."
            case .unreadable(let path): "The mail template \(path) cannot be read as UTF-8 text of at most 256 KB."
            case .unknownFile(let name, let folder): "\(folder)/\(name) replaces no mail template; is its name right?"
            case .syntax(let path, let detail): "The mail template \(path) is not valid Mustache: \(detail)"
            case .include(let path, let name):
                "The mail template \(path) includes \(name); only the shared parts can be included, and not by each other."
            case .incomplete(let name, let what): "The mail template \(name).mustache \(what)."
            }
        }
    }

    private static let ending = ".mustache"
    private static let fileBytesMax = 256 << 10

    /// - Parameters:
    ///   - names: what there must be.
    ///   - includable: those that the others may include.
    init(names: [String], includable: [String], replacements: String?) throws(Problem) {
        let installed = Bundle.module.bundleURL.appendingPathComponent("Templates").path
        let replaced = try Self.files(in: replacements, names)
        for name in names {
            let folder = replaced.contains(name) ? replacements ?? installed : installed
            let path = "\(folder)/\(name)\(Self.ending)"
            guard let data = FileManager.default.contents(atPath: path), data.count <= Self.fileBytesMax,
                let text = String(data: data, encoding: .utf8)
            else { throw .unreadable(path) }
            // A part that included itself would never end.
            let allowed = includable.contains(name) ? [] : includable
            if let stranger = Self.included(by: text).first(where: { !allowed.contains($0) }) {
                throw .include(path, stranger)
            }
            // Without this everything is escaped as HTML, also in the subject and the text.
            let pragma = name.hasSuffix(".html") ? "" : "{{% CONTENT_TYPE:TEXT}}\n"
            do {
                templates[name] = try MustacheTemplate(string: pragma + text)
            } catch {
                throw .syntax(path, "\(error)")
            }
        }
    }

    /// The names of the files in the operator's folder.
    private static func files(in folder: String?, _ names: [String]) throws(Problem) -> Set<String> {
        guard let folder else { return [] }
        guard let files = try? FileManager.default.contentsOfDirectory(atPath: folder) else { throw .folder(folder) }
        var found: Set<String> = []
        for file in files where file.hasSuffix(ending) {
            let name = String(file.dropLast(ending.count))
            guard names.contains(name) else { throw .unknownFile(file, folder: folder) }
            found.insert(name)
        }
        return found
    }

    /// What stands in `{{> name}}` and `{{<name}}`.
    private static func included(by text: String) -> [String] {
        text.matches(of: /\{\{\s*[<>]\s*([^}\s]+)\s*\}\}/).map { String($0.output.1) }
    }
}
