import Foundation
import ParseProtocol

/// The content of the demo shop's file: lists of rows, each with a permanent `key`.
struct ShopData: Sendable {
    private let root: JSON
    /// The folder of the pictures.
    let pictures: URL

    init(file: String) throws {
        pictures = URL(fileURLWithPath: file).deletingLastPathComponent().appendingPathComponent("pictures")
        guard let bytes = FileManager.default.contents(atPath: file) else {
            throw SetupError.invalid("Cannot read \(file).")
        }
        do {
            root = try JSON(parsing: bytes)
        } catch {
            throw SetupError.invalid("\(file) is not valid JSON: \(error).")
        }
    }

    /// The rows of a list. Checks that every row has a unique key.
    func rows(_ list: String) throws -> [(key: String, row: JSON)] {
        guard let rows = root[list]?.arrayValue else {
            throw SetupError.invalid("The shop data has no list \"\(list)\".")
        }
        var keys: Set<String> = []
        return try rows.map { row in
            let key = try row.text("key")
            guard keys.insert(key).inserted else { throw SetupError.invalid("Key \"\(key)\" is twice in \"\(list)\".") }
            return (key, row)
        }
    }

    /// The words from which benchmark products are generated.
    func vocabulary() throws -> Vocabulary {
        guard let words = root["generator"] else { throw SetupError.invalid("The shop data has no \"generator\".") }
        return try Vocabulary(
            qualities: words.texts("qualities"), ingredients: words.texts("ingredients"), sizes: words.texts("sizes"),
            sentences: words.texts("sentences"),
            families: words.list("families").map { family in
                let lowest = try family.whole("minMinorUnits")
                return Vocabulary.Family(
                    name: try family.text("name"), tags: try family.texts("tags"),
                    priceMinorUnits: lowest...max(lowest, try family.whole("maxMinorUnits")))
            })
    }
}

extension JSON {
    func text(_ name: String) throws -> String {
        guard let value = self[name]?.stringValue else { throw missing(name, "text") }
        return value
    }

    func whole(_ name: String) throws -> Int64 {
        guard let value = self[name]?.intValue else { throw missing(name, "whole number") }
        return value
    }

    /// A list with at least one element.
    func list(_ name: String) throws -> [JSON] {
        guard let values = self[name]?.arrayValue, !values.isEmpty else { throw missing(name, "list") }
        return values
    }

    func texts(_ name: String) throws -> [String] {
        let values = try list(name)
        let texts = values.compactMap(\.stringValue)
        guard texts.count == values.count else { throw missing(name, "list of texts") }
        return texts
    }

    private func missing(_ name: String, _ kind: String) -> SetupError {
        let key = self["key"]?.stringValue.map { " of \"\($0)\"" } ?? ""
        return .invalid("The shop data lacks the \(kind) \"\(name)\"\(key).")
    }
}
