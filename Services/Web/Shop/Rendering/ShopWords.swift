import Foundation
import ParseProtocol
import ProcessKit

/// The storefront's texts in one language, and how that language writes amounts and dates.
struct ShopWords: Sendable {
    /// `en`, `de`.
    let language: String
    /// All texts by their names, such as `bag.title`.
    private let texts: [String: String]
    /// The same in a tree, because templates read `{{t.bag.title}}` part by part.
    let tree: [String: any Sendable]

    init(language: String, texts: [String: String]) {
        self.language = language
        self.texts = texts
        tree = Self.tree(texts.map { ($0.key.split(separator: ".")[...], $0.value) })
    }

    private static func tree(_ texts: [(path: ArraySlice<Substring>, text: String)]) -> [String: any Sendable] {
        // A file of the operator may have a text whose name is the beginning of others; templates cannot show it.
        let named = texts.filter { !$0.path.isEmpty }
        return Dictionary(grouping: named) { String($0.path.first ?? "") }.mapValues { group -> any Sendable in
            if group.count == 1, group[0].path.count == 1 { return group[0].text }
            return tree(group.map { ($0.path.dropFirst(), $0.text) })
        }
    }

    /// The text that templates show for `{{t.name}}`; nil for none.
    func shown(_ name: Substring) -> String? {
        var found: Any? = tree
        for part in name.split(separator: ".") { found = (found as? [String: Any])?[String(part)] }
        return found as? String
    }

    /// - Returns: the text with values in place of `{name}`; the name of a text that does not exist.
    func callAsFunction(_ name: String, _ values: [String: String] = [:]) -> String {
        values.reduce(texts[name] ?? name) { text, value in text.replacing("{\(value.key)}", with: value.value) }
    }

    private static let symbols = ["usd": "$", "eur": "€", "gbp": "£", "jpy": "¥"]

    /// `$1,234.50` and `1.234,50 €`.
    func money(_ minorUnits: Int64, _ currency: Currency) -> String {
        let symbol = Self.symbols[currency.code] ?? currency.code.uppercased()
        let text = currency.text(minorUnits: minorUnits)
        let parts = text.drop { $0 == "-" }.split(separator: ".")
        let (group, point) = language == "de" ? (".", ",") : (",", ".")
        var whole = ""
        for (index, digit) in (parts.first ?? "0").enumerated() {
            if index > 0, ((parts.first?.count ?? 0) - index).isMultiple(of: 3) { whole += group }
            whole.append(digit)
        }
        let number = parts.count > 1 ? whole + point + parts[1] : whole
        let sign = minorUnits < 0 ? "-" : ""
        if language == "de" { return "\(sign)\(number) \(symbol)" }
        return sign + symbol + (symbol.count > 1 ? " " : "") + number
    }

    /// `May 2, 2030` and `2. Mai 2030`; empty for no date.
    func date(_ value: JSON?, in zone: ShopZone) -> String {
        guard let iso = value?["iso"]?.stringValue ?? value?.stringValue, let moment = Timestamp(iso: iso) else {
            return ""
        }
        let parts = zone.date(of: moment).split(separator: "-").compactMap { Int($0) }
        guard parts.count == 3, (1...12).contains(parts[1]) else { return "" }
        let month = self("month.\(parts[1])")
        return language == "de" ? "\(parts[2]). \(month) \(parts[0])" : "\(month) \(parts[2]), \(parts[0])"
    }
}

/// The languages of the storefront, one file of texts each.
struct ShopLanguages: Sendable {
    /// By language.
    let all: [String: ShopWords]
    private static let standard = "en"

    /// - Parameters:
    ///   - folder: has `en.json` and a file for each other language.
    ///   - own: has files in `texts` that replace single texts or add a language, whose missing texts are English.
    /// - Throws: `StartupProblem` when a file cannot be read, or lacks a text that English has.
    init(reading folder: URL, replacements own: ShopFiles?) throws {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.path)) ?? []
        var texts: [String: [String: String]] = [:]
        for name in names where name.hasSuffix(".json") {
            guard let data = FileManager.default.contents(atPath: folder.appendingPathComponent(name).path),
                let found = try? JSON(parsing: Array(data)).objectValue
            else { throw StartupProblem("The texts \(name) of the storefront cannot be read.") }
            texts[String(name.dropLast(5))] = found.compactMapValues(\.stringValue)
        }
        guard let english = texts[Self.standard] else { throw StartupProblem("The storefront has no English texts.") }
        for (language, own) in texts {
            if let missing = Set(english.keys).subtracting(own.keys).min() {
                throw StartupProblem("The storefront's text \(missing) is missing in \(language).json.")
            }
        }
        for (language, replaced) in try own?.texts() ?? [:] {
            texts[language] = (texts[language] ?? english).merging(replaced) { $1 }
        }
        all = texts.reduce(into: [:]) { all, entry in
            all[entry.key] = ShopWords(language: entry.key, texts: entry.value)
        }
    }

    /// The first language of an `Accept-Language` that there is. Browsers sort it by preference.
    func words(for accepted: String) -> ShopWords {
        if let only = all[accepted] { return only }
        let wanted = accepted.lowercased().split(separator: ",").map { part in
            String(part.split(separator: ";").first ?? "").trimmingCharacters(in: .whitespaces).prefix { $0 != "-" }
        }
        let found = wanted.lazy.compactMap { all[String($0)] }.first
        // `init` has checked that English is there.
        return found ?? all[Self.standard] ?? ShopWords(language: Self.standard, texts: [:])
    }
}
