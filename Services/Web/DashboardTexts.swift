import Foundation
import ParseProtocol
import ProcessKit

/// The dashboard's texts in an operator's folder, `SATCHEL_DASHBOARD_TEXTS`: a file such as `fr.json` adds a language,
/// and `de.json` replaces texts of one that comes with Satchel. A missing text is the one that comes with Satchel in
/// that language, or the English one.
struct DashboardTexts {
    private typealias Texts = [String: JSON]

    private let own: [(language: String, texts: Texts)]

    private static let page = "dashboard"

    /// - Throws: `StartupProblem` for a folder that cannot be read, and for a file that is not a language's texts.
    init(reading folder: String) throws {
        let setting = "SATCHEL_DASHBOARD_TEXTS=\(folder)"
        guard let names = try? FileManager.default.contentsOfDirectory(atPath: folder) else {
            throw StartupProblem("\(setting) is not a folder that can be read.")
        }
        own = try names.filter { $0.hasSuffix(".json") }.sorted().map { name in
            guard let language = Self.language(of: Self.filePath(name), page: Self.page) else {
                throw StartupProblem("\(setting) has \(name), which is not named after a language, such as fr.json.")
            }
            let bytes = FileManager.default.contents(atPath: "\(folder)/\(name)") ?? Data()
            guard let texts = (try? JSON(parsing: Array(bytes)))?.objectValue,
                texts.values.allSatisfy({ $0.stringValue != nil })
            else { throw StartupProblem("\(setting) has \(name), which is not a JSON object of texts.") }
            return (language, texts)
        }
    }

    private static func filePath(_ name: String) -> String { "\(page)/texts/\(name)" }

    /// The code of the language whose texts a page's file has; nil for other files. Codes are those of BCP 47, such as
    /// `pt-BR`.
    static func language(of path: String, page: String) -> String? {
        let (folder, ending) = ("\(page)/texts/", ".json")
        guard path.hasPrefix(folder), path.hasSuffix(ending) else { return nil }
        let code = path.dropFirst(folder.count).dropLast(ending.count)
        return code.wholeMatch(of: #/[a-z]{2,3}(?:-[A-Z][a-z]{3})?(?:-[A-Z]{2})?/#).map { String($0.output) }
    }

    /// Adds these texts to the files of the pages, which stay sorted by path.
    func add(to contents: inout [WebSiteFiles.Entry]) throws {
        let english = try Self.texts("en", in: contents)
        for (language, texts) in own {
            let complete = try english.merging(Self.texts(language, in: contents)) { $1 }.merging(texts) { $1 }
            let path = Self.filePath("\(language).json")
            contents.removeAll { $0.path == path }
            contents.append(.init(path: path, bytes: JSON.object(complete).serialized))
        }
        contents.sort { $0.path < $1.path }
    }

    private static func texts(_ language: String, in contents: [WebSiteFiles.Entry]) throws -> Texts {
        guard let file = contents.first(where: { $0.path == filePath("\(language).json") }) else { return [:] }
        return try JSON(parsing: file.bytes).objectValue ?? [:]
    }
}
