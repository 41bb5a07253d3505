import ParseProtocol

/// What search engines and other sites show of a page.
struct ShopHead {
    /// The page's only address: a path of this shop.
    let path: String
    var description = ""
    /// The width of pictures that other sites show: 1,200 or the next one.
    static let pictureWidth = 1280

    /// The URL or path of a picture.
    var picture: String?
    /// `og:type`.
    var type = "website"
    /// Whether search engines list it.
    var isListed = true
    /// Objects of schema.org.
    var things: [JSON] = []

    /// - Parameter origin: of this shop; empty when it is unknown.
    /// - Returns: a value for each name of the template, because a missing one would be looked up in the page's values.
    func values(_ origin: String) -> [String: Any] {
        func known(_ text: String) -> Any { text.isEmpty ? false as Any : text as Any }
        return [
            "canonical": known(origin.isEmpty ? "" : origin + path), "description": known(description),
            "picture": known(picture.map { Self.absolute($0, origin) } ?? ""), "type": type, "isListed": isListed,
            "things": things.map(Self.scriptText),
        ]
    }

    static func absolute(_ url: String, _ origin: String) -> String { url.hasPrefix("/") ? origin + url : url }

    /// The first words of a text in one line, at most 160 characters.
    static func excerpt(_ text: String) -> String {
        var (line, word) = ("", "")
        // The characters of both, with a space between words.
        var count = 0
        func endWord() {
            guard !word.isEmpty else { return }
            if !line.isEmpty {
                line += " "
                count += 1
            }
            line += word
            word = ""
        }
        for (place, character) in text.enumerated() {
            guard place < 1000 else { break }
            if isSpace(character) {
                endWord()
            } else {
                word.append(character)
                count += 1
                if count >= 160 { return line.isEmpty ? word : line + "…" }
            }
        }
        endWord()
        return line
    }

    /// The first scalar decides, as in `isWhitespace`, which takes longer because it looks up properties of ASCII too.
    private static func isSpace(_ character: Character) -> Bool {
        guard let first = character.utf8.first, first < 0x80 else { return character.isWhitespace }
        return first == UInt8(ascii: " ") || (0x09...0x0D).contains(first)
    }

    /// JSON for a `script` element. Bytes are replaced, because `<` with a combining mark is another character; inside
    /// of a JSON text they occur in strings only.
    static func scriptText(_ json: JSON) -> String {
        var bytes: [UInt8] = []
        for byte in json.serialized {
            switch byte {
            case UInt8(ascii: "<"): bytes += Array(#"\u003c"#.utf8)
            case UInt8(ascii: ">"): bytes += Array(#"\u003e"#.utf8)
            case UInt8(ascii: "&"): bytes += Array(#"\u0026"#.utf8)
            default: bytes.append(byte)
            }
        }
        return String(decoding: bytes, as: UTF8.self)
    }

    /// - Parameter steps: names and paths from the home page to this page.
    static func breadcrumbs(_ steps: [(name: String, path: String)], _ origin: String) -> JSON {
        let items = steps.enumerated().map { index, step -> JSON in
            [
                "@type": "ListItem", "position": .int(Int64(index + 1)), "name": .string(step.name),
                "item": .string(origin + step.path),
            ]
        }
        return ["@context": "https://schema.org", "@type": "BreadcrumbList", "itemListElement": .array(items)]
    }
}

extension ShopView {
    /// A product with its offer and rating.
    func thing(_ product: JSON, path: String, picture: String?, _ origin: String) -> JSON {
        let url = JSON.string(origin + path)
        let availability = isSoldOut(product) ? "OutOfStock" : "InStock"
        let offer: JSON = [
            "@type": "Offer", "price": .string(currency.text(minorUnits: price(product))),
            "priceCurrency": .string(currency.code.uppercased()), "url": url,
            "availability": .string("https://schema.org/\(availability)"),
        ]
        var thing: JSON = [
            "@context": "https://schema.org", "@type": "Product", "name": product["name"] ?? "",
            "sku": product["objectId"] ?? "", "url": url, "offers": offer,
        ]
        if let detail = product["detail"]?.stringValue, !detail.isEmpty { thing["description"] = .string(detail) }
        if let picture { thing["image"] = .string(ShopHead.absolute(picture, origin)) }
        if let brand = product["brand"]?["title"]?.stringValue {
            thing["brand"] = ["@type": "Brand", "name": .string(brand)]
        }
        if let count = product["ratingCount"]?.intValue, count > 0, let average = product["ratingAverage"] {
            thing["aggregateRating"] = [
                "@type": "AggregateRating", "ratingValue": average, "reviewCount": .int(count),
            ]
        }
        return thing
    }
}
