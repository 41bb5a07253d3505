import Foundation
import ParseProtocol
import ProcessKit

/// An operator's folder with files of the storefront, `SATCHEL_STOREFRONT_FILES`: templates and `texts/*.json` replace
/// those of `Services/Web/Storefront`, styles and pictures those of `Site/shop`.
struct ShopFiles {
    /// By their paths in the folder.
    let urls: [String: URL]
    private let setting: String

    private static let textsFolder = "texts/"
    private static let assetTypes: Set<String> = ["css", "png", "svg"]

    /// - Throws: `StartupProblem` for a folder that cannot be read.
    init(reading folder: String) throws {
        setting = "SATCHEL_STOREFRONT_FILES=\(folder)"
        guard let names = try? FileManager.default.subpathsOfDirectory(atPath: folder) else {
            throw StartupProblem("\(setting) is not a folder that can be read.")
        }
        let root = URL(fileURLWithPath: folder)
        urls = names.reduce(into: [:]) { $0[$1] = root.appendingPathComponent($1) }
    }

    /// The texts by language.
    /// - Throws: `StartupProblem` for a file that is not a language's texts.
    func texts() throws -> [String: [String: String]] {
        var all: [String: [String: String]] = [:]
        for (name, url) in urls where name.hasPrefix(Self.textsFolder) && name.hasSuffix(".json") {
            let language = String(name.dropFirst(Self.textsFolder.count).dropLast(".json".count))
            guard language.wholeMatch(of: #/[a-z]{2,3}/#) != nil else {
                throw StartupProblem("\(setting) has \(name), which is not named after a language, such as fr.json.")
            }
            let bytes = FileManager.default.contents(atPath: url.path) ?? Data()
            guard let texts = (try? JSON(parsing: Array(bytes)))?.objectValue,
                texts.values.allSatisfy({ $0.stringValue != nil })
            else { throw StartupProblem("\(setting) has \(name), which is not a JSON object of texts.") }
            all[language] = texts.compactMapValues(\.stringValue)
        }
        return all
    }

    /// Adds the styles and pictures to the files of the pages, which stay sorted by path.
    func add(to contents: inout [WebSiteFiles.Entry], under folder: String) throws {
        for (name, url) in urls where Self.assetTypes.contains(url.pathExtension) && !name.contains("/") {
            guard let bytes = FileManager.default.contents(atPath: url.path) else {
                throw StartupProblem("\(setting) has \(name), which cannot be read.")
            }
            let path = "\(folder)/\(name)"
            contents.removeAll { $0.path == path }
            contents.append(.init(path: path, bytes: Array(bytes)))
        }
        contents.sort { $0.path < $1.path }
    }
}
