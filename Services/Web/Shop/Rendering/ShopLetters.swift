import ParseProtocol

/// The sections of a list of products by the first letter of the name. A name that begins otherwise is under `0`, which
/// is shown as `#`.
enum ShopLetters {
    private static let other = "0"
    static let all: [String] = [other] + (UInt8(ascii: "A")...UInt8(ascii: "Z")).map { String(UnicodeScalar($0)) }

    static func letter(of product: JSON) -> String {
        let first = product["name"]?.stringValue?.unicodeScalars.first
        let letter = first.map { String($0).uppercased() } ?? other
        return all.contains(letter) ? letter : other
    }

    /// The condition on the name.
    static func pattern(_ letter: String) -> JSON {
        letter == other ? ["$regex": "^[^A-Za-z]"] : ["$regex": .string("^\(letter)"), "$options": "i"]
    }

    /// The list is sorted by name, with small letters after all capital ones.
    static func sections(_ products: [JSON], _ view: ShopView) -> [[String: Any]] {
        var sections: [(letter: String, products: [JSON])] = []
        for product in products {
            let letter = letter(of: product)
            if let index = sections.firstIndex(where: { $0.letter == letter }) {
                sections[index].products.append(product)
            } else {
                sections.append((letter: letter, products: [product]))
            }
        }
        return sections.enumerated().map { place, section -> [String: Any] in
            let cards = place == 0 ? view.firstCards(section.products) : section.products.map(view.card)
            return ["name": section.letter, "title": title(section.letter), "products": cards.map { ShopValues($0) }]
        }
    }

    /// The links to the letters.
    /// - Parameter products: of a list with one page, whose sections are on this page; nil for a longer list.
    static func index(_ products: [JSON]?, current: String?, _ href: (String) -> String) -> [[String: Any]] {
        let here = products.map { Set($0.map(letter(of:))) }
        return all.filter { here?.contains($0) ?? true }.map { letter -> [String: Any] in
            [
                "title": title(letter), "href": here == nil ? href(letter) : "#letter-\(letter)",
                "current": letter == current,
            ]
        }
    }

    private static func title(_ letter: String) -> String { letter == other ? "#" : letter }
}
